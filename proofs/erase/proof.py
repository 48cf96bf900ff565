"""The proof itself: makes histories, erases a part of them, and looks for what is left."""

import asyncio
import random
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

import sapwood
from proofs.erase.eraser import STEPS
from proofs.erase.history import MadeAgent, SharedText, make_history, marker
from proofs.erase.raw_search import (
    dump_of,
    found_in_bytes,
    found_in_files,
    found_in_stores,
)
from proofs.erase.survey import Survey, compare, survey, tailed
from sapwood.app.removal import archive_agent
from sapwood.config.folders import checkpoints_folder
from sapwood.core.ids import AgentId
from sapwood.core.settings import Workspace
from sapwood.lifecycle.erasable_log import erasable
from sapwood.workspace.checkpoints.git_checkpoints import GitCheckpoints

_SPACES = 6
_WORKSPACES = 12
"""Histories with checkpoints; git takes long."""
_PER_CALL = 8
_KEPT_OPEN = 200
"""Agents that another process has in memory during the erasures; it keeps 256 for each space."""


class Findings(Struct):
    """What was done and what was found."""

    histories: int = 0
    agents: int = 0
    erasures: int = 0
    killed: int = 0
    erased: int = 0
    archived: int = 0
    planted: int = 0
    left: int = 0
    compared: int = 0
    kept_open: int = 0
    reread: int = 0
    problems: list[str] = []

    def add(self, other: "Findings") -> None:
        """Adds the numbers of another store."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def text(self) -> str:
        """The figures on one line."""
        return (
            f"{self.histories:,} histories with {self.agents:,} agents, {self.erasures:,} erasures "
            f"({self.killed:,} killed in the middle) of {self.erased:,} agents, "
            f"{self.archived:,} conversations of them archived; "
            f"{self.planted:,} markers before, {self.left:,} after; "
            f"{self.kept_open:,} agents open in another process meanwhile, {self.reread:,} of them "
            f"with erased words in memory; "
            f"{self.compared:,} other agents compared, {len(self.problems):,} problems"
        )


async def prove(
    address: str, raw: Sequence[Path], folder: Path, histories: int, seed: int
) -> Findings:
    """Runs the proof on one database. `raw` are the folders whose files are searched."""
    numbers, found = random.Random(seed), Findings(histories=histories)
    shared = [SharedText(word, f"{word} " + "shared text " * 300) for word in _markers(numbers)]
    made = await _make(address, folder, numbers, shared, histories)
    found.agents = len(made)
    chosen = _chosen(made, numbers)
    erased = _with_descendants(made, chosen)
    gone = {each.id for each in erased}
    stay = [each for each in made if each.id not in gone]
    before, cursors = await _surveys(address, stay), await _cursors(address)
    alive = {word for each in stay for word in each.shared}
    unused = {text.marker for text in shared if text.marker not in alive}
    markers = frozenset(word.encode() for word in {each.marker for each in erased} | unused)
    found.planted = len(found_in_bytes(await asyncio.to_thread(dump_of, address), markers))
    found.archived = await _archive(address, folder, chosen, numbers)
    words = {word.decode() for word in markers}
    async with _reader(address, stay, words, numbers, found) as reader:
        await _erase(address, chosen, numbers, found, reader)
        shown = await reader.ask("again")
        found.problems += [f"the open process shows {word}" for word in sorted(shown & words)]
    await _finish(address)
    found.erased = len(erased)
    await _compare(address, stay, before, gone, words, found)
    await _compare_tails(address, cursors, gone, found)
    await asyncio.to_thread(_search, address, raw, markers, found)
    return found


class _Reader:
    """The process that has agents in memory."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def ask(self, line: str) -> set[str]:
        """Sends a line. Returns the markers that the process shows."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(line.encode() + b"\n")
        await self._process.stdin.drain()
        answer = await self._process.stdout.readline()
        return set(msgspec.json.decode(answer, type=list[str]))

    async def close(self) -> None:
        """Ends the process."""
        assert self._process.stdin
        self._process.stdin.close()
        await self._process.wait()


@asynccontextmanager
async def _reader(
    address: str,
    stay: Sequence[MadeAgent],
    words: set[str],
    numbers: random.Random,
    found: Findings,
) -> AsyncGenerator[_Reader]:
    """Opens a part of the agents that stay in a process of its own, before anything is erased."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "proofs.erase.reader", address),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=2**26,
    )
    reader = _Reader(process)
    try:
        for each in numbers.sample(stay, min(len(stay), _KEPT_OPEN)):
            pair = msgspec.json.encode([(each.space, each.id)]).decode()
            found.kept_open += 1
            found.reread += bool(words & await reader.ask(pair))
        yield reader
    finally:
        await reader.close()


async def _archive(
    address: str, folder: Path, chosen: Sequence[MadeAgent], numbers: random.Random
) -> int:
    """Moves a fifth of the conversations that will be erased to an archive first."""
    objects = folder / "objects"
    objects.mkdir()
    archived = 0
    async with sapwood.open(address) as db:
        for each in chosen:
            if each.parent is None and numbers.random() < 0.2:
                connection = db.space(each.space).connection
                await archive_agent(connection, each.id, f"file://{objects}", by="system")
                archived += 1
    return archived


def _markers(numbers: random.Random) -> list[str]:
    return [marker(numbers) for _ in range(40)]


async def _make(
    address: str,
    folder: Path,
    numbers: random.Random,
    shared: Sequence[SharedText],
    histories: int,
) -> list[MadeAgent]:
    made: list[MadeAgent] = []
    async with sapwood.open(address) as db:
        spaces = [db.space(f"space-{n}") for n in range(_SPACES)]
        for number in range(histories):
            space = spaces[number % _SPACES]
            work = _workspace(folder, number) if number < _WORKSPACES else None
            near = [each for each in made if each.space == space.connection.space][-20:]
            family = await make_history(space, space.connection.space, numbers, shared, near, work)
            made += family
            if work is not None:
                (work / "file.txt").write_text(f"file {family[0].marker}")
                checkpoints = GitCheckpoints(space=space.connection.space)
                await checkpoints.save(Workspace(str(work)), family[0].id)
                (work / "file.txt").write_text("")
        for space in spaces:
            await space.search("anything")  # so that the words are indexed
    return made


def _workspace(folder: Path, number: int) -> Path:
    work = folder / f"project-{number}"
    work.mkdir()
    subprocess.run(["git", "init", "--quiet", str(work)], check=True)
    return work


def _chosen(made: Sequence[MadeAgent], numbers: random.Random) -> list[MadeAgent]:
    """A third of all agents, and every root of the last space."""
    last = f"space-{_SPACES - 1}"
    return [
        each
        for each in made
        if (each.space == last and each.parent is None)
        or (each.space != last and numbers.random() < 0.3)
    ]


def _with_descendants(made: Sequence[MadeAgent], chosen: Sequence[MadeAgent]) -> list[MadeAgent]:
    ids = {each.id for each in chosen}
    for each in made:  # parents come before their children
        if each.parent in ids:
            ids.add(each.id)
    return [each for each in made if each.id in ids]


async def _surveys(address: str, agents: Sequence[MadeAgent]) -> dict[AgentId, Survey]:
    async with sapwood.open(address) as db:
        return {
            each.id: await survey(db.space(each.space), each.id, each.marker) for each in agents
        }


async def _cursors(address: str) -> dict[str, list[sapwood.TailedEvent]]:
    """All events of each space, with their cursors."""
    found: dict[str, list[sapwood.TailedEvent]] = {}
    async with sapwood.open(address) as db:
        for number in range(_SPACES):
            space = db.space(f"space-{number}")
            count = sum(summary.version for summary in await space.agents(limit=1_000_000))
            found[f"space-{number}"] = await tailed(space, count)
    return found


async def _erase(
    address: str,
    chosen: Sequence[MadeAgent],
    numbers: random.Random,
    found: Findings,
    reader: "_Reader",
) -> None:
    """Erases in processes of their own, of which two of three are killed at some step."""
    last = f"space-{_SPACES - 1}"
    calls: list[tuple[str, list[str]]] = [(last, [])]
    for number in range(_SPACES - 1):
        agents = [each.id for each in chosen if each.space == f"space-{number}"]
        calls += [
            (f"space-{number}", list[str](agents[start : start + _PER_CALL]))
            for start in range(0, len(agents), _PER_CALL)
        ]
    for number, (space, agents) in enumerate(calls):
        kill_at = numbers.randint(1, len(STEPS) + 2) if number % 3 else 0
        code = await asyncio.to_thread(_run_eraser, address, space, kill_at, agents)
        found.erasures += 1
        if code == -9:
            found.killed += 1
            # What was not even planned is erased again; the rest is finished when it is opened.
            code = await asyncio.to_thread(_run_eraser, address, space, 0, agents)
        if code:
            found.problems.append(f"an erasure ended with {code}")
        if number == len(calls) // 2:
            await reader.ask("again")


def _run_eraser(address: str, space: str, kill_at: int, agents: Sequence[str]) -> int:
    return subprocess.run(
        [sys.executable, "-m", "proofs.erase.eraser", address, space, str(kill_at), *agents],
        check=False,
    ).returncode


async def _finish(address: str) -> None:
    """Opens the database, which finishes what was cut off, and writes the raw files again."""
    async with sapwood.open(address) as db:
        log = erasable(db.connection.log)
        assert not await log.unfinished_erasures()
        await log.scrub(whole=True)
        await log.scrub(whole=True)  # a second checkpoint lets the server remove the older files


async def _compare(
    address: str,
    stay: Sequence[MadeAgent],
    before: dict[AgentId, Survey],
    gone: set[AgentId],
    words: set[str],
    found: Findings,
) -> None:
    async with sapwood.open(address) as db:
        for each in stay:
            after = await survey(db.space(each.space), each.id, each.marker)
            found.problems += [
                f"{each.id}: {problem}" for problem in compare(before[each.id], after, gone, words)
            ]
            found.compared += 1
        for number in range(_SPACES):
            space = db.space(f"space-{number}")
            for summary in await space.agents(limit=1_000_000):
                if summary.agent in gone:
                    found.problems.append(f"{summary.agent} is listed")


async def _compare_tails(
    address: str,
    before: dict[str, list[sapwood.TailedEvent]],
    gone: set[AgentId],
    found: Findings,
) -> None:
    """A cursor from before leads to the same events as before, without the erased ones."""
    async with sapwood.open(address) as db:
        for space, events in before.items():
            left = [each for each in events if each.recorded.agent not in gone]
            middle = events[len(events) // 2].cursor
            later = [each for each in left if each.cursor > middle]
            if not later:
                continue
            after = await tailed(db.space(space), len(later), middle)
            if [each.cursor for each in after] != [each.cursor for each in later]:
                found.problems.append(f"{space}: cursors differ")
            refs = [each.recorded.ref for each in after]
            if refs != [each.recorded.ref for each in later]:
                found.problems.append(f"{space}: the tail differs")


def _search(address: str, raw: Sequence[Path], markers: frozenset[bytes], found: Findings) -> None:
    in_files = found_in_files(raw, markers)
    dump = dump_of(address)
    in_dump = found_in_bytes(dump, markers)
    for word in sorted(in_dump)[:3]:
        at = dump.index(word)
        found.problems.append(f"the dump: {dump[max(0, at - 300) : at + 60]!r}")
    for file in raw[0].joinpath("objects").rglob("*.gz"):
        found.problems.append(f"the archive {file.name} is left")
    in_stores = found_in_stores(checkpoints_folder(), markers)
    for file, words in sorted(in_files.items()):
        found.problems.append(f"{file} has {len(words)} markers, such as {min(words).decode()}")
    for name, words in (("the dump", in_dump), ("a store of checkpoints", in_stores)):
        if words:
            found.problems.append(f"{name} has {len(words)} markers")
    found.left = len(set[bytes]().union(*in_files.values(), in_dump, in_stores))
