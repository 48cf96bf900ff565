"""Two servers behind a proxy are restarted in turn under load: nothing is missed or doubled.

    just rolling-restart --rounds 3 --followers 20

Writers send commands through the proxy and repeat a request that failed, with the same id.
Followers read the events and resume with `Last-Event-ID` when their stream ends. In the end each
follower must have every version of the log once, in order, and each command must have acted once.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

import httpx2
from msgspec import Struct, field

from proofs.agents_e2e.environment import ProofError
from proofs.deploy.served_site import ServedSite
from scripted_model import ScriptedModel
from tools.postgres import cluster

_MAX_STOP = 20.0
"""Seconds within which a server must have stopped."""
_MAX_GAP = 10.0
"""Seconds within which an event must have reached every follower."""
_STATUS_AGAIN = (502, 503, 504)


class _Figures(Struct):
    """What happened."""

    sent: int = 0
    repeated: int = 0
    refused: list[str] = field(default_factory=list[str])
    streams: int = 0
    stops: list[float] = field(default_factory=list[float])
    lag: float = 0.0
    stored_at: dict[int, float] = field(default_factory=dict[int, float])


class _Load:
    """Writers and followers of one conversation, through the proxy."""

    def __init__(self, address: str, token: str, figures: _Figures) -> None:
        self._headers = {"Authorization": f"Bearer {token}"}
        self._address = address
        self._figures = figures
        self.agent = ""
        self.stopping = asyncio.Event()

    def client(self) -> httpx2.AsyncClient:
        """A client of the site."""
        return httpx2.AsyncClient(base_url=self._address, headers=self._headers, timeout=30)

    async def post(self, client: httpx2.AsyncClient, path: str, body: dict[str, str]) -> object:
        """Sends a request until it is answered; the same id acts once."""
        while True:
            self._figures.sent += 1
            try:
                answer = await client.post(path, json=body)
            except httpx2.TransportError:
                self._figures.repeated += 1
                await asyncio.sleep(0.1)
                continue
            if answer.status_code in _STATUS_AGAIN:
                self._figures.repeated += 1
                await asyncio.sleep(0.1)
                continue
            if not answer.is_success:
                self._figures.refused.append(f"{answer.status_code} {answer.text[:200]}")
            return answer.json()

    async def write(self, writer: int) -> int:
        """Sets marks until the end. Returns how many."""
        count = 0
        async with self.client() as client:
            while not self.stopping.is_set():
                name = f"W{writer}-{count}"
                path = f"/v1/agents/{self.agent}/commands/mark"
                await self.post(client, path, {"args": name, "id": name})
                count += 1
                await asyncio.sleep(0.05)
        return count

    async def follow(self, until: "asyncio.Future[int]") -> list[int]:
        """The versions that a follower got, until it has the last one."""
        found: list[int] = []
        async with self.client() as client:
            while not (until.done() and found and found[-1] >= until.result()):
                headers = {"Last-Event-ID": str(found[-1])} if found else {}
                path = f"/v1/agents/{self.agent}/events"
                self._figures.streams += 1
                try:
                    async with client.stream("GET", path, headers=headers) as answer:
                        if answer.is_success:
                            await self._read(answer, found, until)
                except httpx2.TransportError:
                    pass
                await asyncio.sleep(0.02)
        return found

    async def _read(
        self, answer: httpx2.Response, found: list[int], until: "asyncio.Future[int]"
    ) -> None:
        async for line in answer.aiter_lines():
            if line.startswith("id: "):
                version, now = int(line[4:]), time.monotonic()
                first = self._figures.stored_at.setdefault(version, now)
                self._figures.lag = max(self._figures.lag, now - first)
                found.append(version)
            if until.done() and found and found[-1] >= until.result():
                return


async def _restarts(site: ServedSite, rounds: int, pause: float, figures: _Figures) -> None:
    for _ in range(rounds):
        for server in site.servers:
            await asyncio.sleep(pause)
            figures.stops.append(await asyncio.to_thread(server.stop))
            await asyncio.to_thread(server.start)


async def _prompts(load: _Load) -> int:
    """Turns of a second conversation, one after the other, answered by the worker."""
    turns = 0
    async with load.client() as client:
        started = await load.post(client, "/v1/agents", {"name": "turns"})
        assert isinstance(started, dict)
        agent = str(started["agent"])  # pyright: ignore[reportUnknownArgumentType]
        while not load.stopping.is_set():
            path = f"/v1/agents/{agent}/turns"
            await load.post(client, path, {"text": f"Turn {turns}.", "id": f"turn-{turns}"})
            while True:
                summary = await _summary(client, agent)
                if summary is not None and not summary.get("working"):
                    break
                await asyncio.sleep(0.1)
            turns += 1
    return turns


async def _summary(client: httpx2.AsyncClient, agent: str) -> dict[str, object] | None:
    try:
        answer = await client.get(f"/v1/agents/{agent}")
    except httpx2.TransportError:
        return None
    return answer.json() if answer.is_success else None


async def _run(site: ServedSite, options: argparse.Namespace) -> list[str]:
    """Runs the load and the restarts. Returns what is wrong."""
    figures = _Figures()
    load = _Load(site.address, site.token(), figures)
    last: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    async with load.client() as client:
        started = await load.post(client, "/v1/agents", {"name": "restarted"})
        assert isinstance(started, dict)
        load.agent = str(started["agent"])  # pyright: ignore[reportUnknownArgumentType]
        followers = [asyncio.ensure_future(load.follow(last)) for _ in range(options.followers)]
        writers = [asyncio.ensure_future(load.write(n)) for n in range(options.writers)]
        prompts = asyncio.ensure_future(_prompts(load))
        await _restarts(site, options.rounds, options.pause, figures)
        load.stopping.set()
        written = sum(await asyncio.gather(*writers))
        turns = await prompts
        summary = await _summary(client, load.agent)
        assert summary is not None
        version = summary["version"]
        assert isinstance(version, int)
        last.set_result(version)
        got = await asyncio.gather(*followers)
        context = (await client.get(f"/v1/agents/{load.agent}/context")).json()
    whole = list(range(1, version + 1))
    missed = sum(len(set(whole) - set(each)) for each in got)
    doubled = sum(len(each) - len(set(each)) for each in got)
    print(f"events: {version}, followers: {len(got)}, streams opened: {figures.streams}")
    print(f"requests: {figures.sent}, repeated after a failure: {figures.repeated}")
    print(f"turns answered by the worker: {turns}")
    print(f"restarts: {len(figures.stops)}, the slowest stop: {max(figures.stops):.1f} s")
    print(f"the longest time between two followers for one event: {figures.lag:.2f} s")
    print(f"missed: {missed}, doubled: {doubled}, refused: {len(figures.refused)}")
    wrong = [f"refused: {each}" for each in figures.refused[:3]]
    if missed or doubled or any(each != whole for each in got):
        wrong.append(f"{missed} events were missed, {doubled} doubled")
    if max(figures.stops) > _MAX_STOP:
        wrong.append(f"a stop took {max(figures.stops):.1f} s")
    if figures.lag > _MAX_GAP:
        wrong.append(f"an event came {figures.lag:.1f} s later to one follower than to another")
    kept = min(written, 256)
    if len(context["marks"]) != kept or version != written + 1:
        wrong.append(f"{written} marks were set, the log has {version - 1}")
    if not turns:
        wrong.append("the worker answered no turn")
    return wrong


def main(arguments: list[str]) -> int:
    """Runs the proof; returns 1 if anything was missed, doubled, refused or too slow."""
    parser = argparse.ArgumentParser(prog="python -m proofs.deploy.restart", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often each server is restarted")
    parser.add_argument("--followers", type=int, default=50)
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--pause", type=float, default=2.0, help="seconds before each restart")
    parser.add_argument("--minutes", type=float, default=10.0, help="the longest it may take")
    options = parser.parse_args(arguments)
    started = time.monotonic()
    try:
        with (
            tempfile.TemporaryDirectory(prefix="sapwood-restart-") as folder,
            cluster() as database,
            ScriptedModel(retry_after=0.01) as model,
        ):
            site = ServedSite(Path(folder), database.dsn, model.anthropic_url)
            try:
                site.start()
                wrong = asyncio.run(_limited(site, options))
            finally:
                site.stop()
    except (ProofError, TimeoutError) as error:
        wrong = [str(error) or f"not done after {options.minutes} minutes"]
    for each in wrong:
        print(f"NO {each}")
    seconds = time.monotonic() - started
    print(
        f"rolling-restart: {'failed' if wrong else 'nothing missed or doubled'} in {seconds:.0f} s"
    )
    return int(bool(wrong))


async def _limited(site: ServedSite, options: argparse.Namespace) -> list[str]:
    async with asyncio.timeout(options.minutes * 60):
        return await _run(site, options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
