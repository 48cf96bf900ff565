"""docs/examples/service.py runs: a web server, three workers for all tenants, words as SSE."""

import asyncio
import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from sapwood.engine.workers import read_engine_status
from scripted_model import ModelRequest, ReplyLike, ScriptedModel, call
from tests.docs.test_examples import ROOT

for extra in ("starlette", "uvicorn", "asyncpg", "httpx2"):
    pytest.importorskip(extra, reason=f"{extra} of the extra 'all' is not installed")

EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))
EXAMPLE = ROOT / "docs" / "examples" / "service.py"
TENANTS = "abcdef"


def answer(request: ModelRequest) -> ReplyLike:
    if request.results:
        return f"I looked it up: {request.results[0].content}"
    return call("order_status", order=request.prompt)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_each_example_is_shorter_than_sixty_lines(example: Path) -> None:
    assert len(example.read_text().splitlines()) < 60


def test_three_workers_answer_all_tenants_and_words_arrive_as_events(
    tmp_path: Path, postgres_dsn: str
) -> None:
    with ScriptedModel() as model, ExitStack() as stack:
        model.script(answer)
        config = tmp_path / "config.toml"
        config.write_text(f'[base_urls]\nden = "{model.openai_url}"\n')
        environment = {
            **os.environ,
            "DATABASE_URL": postgres_dsn,
            "SAPWOOD_DATABASE": postgres_dsn,
            "SAPWOOD_CONFIG": str(config),
            "SERVICE_MODEL": "den:qwen3",
        }
        programs = [
            [sys.executable, "-m", "uvicorn", "service:app", "--port", "0"],
            *[[sys.executable, "-m", "sapwood.cli", "worker", "--app", "service:runtime"]] * 3,
        ]
        started: list[subprocess.Popen[bytes]] = []
        for number, program in enumerate(programs):
            more = ["--spaces", "example-*"] if number else []
            process = subprocess.Popen(
                [*program, *more], cwd=EXAMPLE.parent, env=environment, stderr=subprocess.PIPE
            )
            stack.callback(process.communicate)
            stack.callback(process.terminate)
            started.append(process)
        port = _port(started[0])
        workers = {str(worker.pid) for worker in started[1:]}
        said = asyncio.run(_ask_all(port, postgres_dsn, workers))
    assert said == [
        f"I looked it up: Order 7 of example-{tenant} is on its way." for tenant in TENANTS
    ]


def _port(server: "subprocess.Popen[bytes]") -> int:
    assert server.stderr is not None
    for line in server.stderr:
        if b"running on http://" in line:
            return int(line.split(b"http://127.0.0.1:")[1].split()[0])
    raise AssertionError("the web server did not start")


async def _ask_all(port: int, dsn: str, workers: set[str]) -> list[str]:
    """Waits until these processes are workers, then asks for all tenants at once."""
    async with asyncio.timeout(240):
        await _until_workers(dsn, workers)
        asking = (_asked(port, f"example-{tenant}") for tenant in TENANTS)
        return await asyncio.gather(*asking)


async def _until_workers(dsn: str, processes: set[str]) -> None:
    while True:
        if processes <= {seen.process for seen in (await read_engine_status(dsn)).workers}:
            return
        await asyncio.sleep(0.2)


async def _asked(port: int, tenant: str) -> str:
    """Asks over HTTP and returns the answer; the words before it must be the same."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps({"text": "7"}).encode()
    writer.write(
        f"POST /chats/1 HTTP/1.0\r\nx-tenant: {tenant}\r\nx-user: ada\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode()
    )
    writer.write(body)
    await writer.drain()
    response = (await reader.read()).decode()
    writer.close()
    words, end, is_end = "", "", False
    for line in response.splitlines():
        if line.startswith("event: end"):
            is_end = True
        elif line.startswith("data: "):
            text = json.loads(line.removeprefix("data: "))
            words, end = (words, text) if is_end else (words + text, end)
    assert words == end, response
    return end
