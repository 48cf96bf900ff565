"""`sapwood worker`: runs agents that others woke, and leaves cleanly."""

import asyncio
import json
import logging
import os
import re
import secrets
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from sapwood.api import Agent, open
from sapwood.cli.log_files import log_in, log_to_folder
from sapwood.log_fields import within_fields
from sapwood.trace_context import within_trace
from scripted_model import ScriptedModel, call
from tests.cli.calling import Sapwooder
from tests.engine.eventually import eventually


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("postgres", marks=pytest.mark.night),
        pytest.param("temporal", marks=pytest.mark.night),
    ]
)
def address(request: pytest.FixtureRequest, home: Path) -> str:
    """A database of either kind; the last one with Temporal as its engine."""
    if request.param == "temporal":
        config = home / ".config/sapwood/config.toml"
        config.parent.mkdir(parents=True)
        server, queue = request.getfixturevalue("temporal_address"), secrets.token_hex(6)
        table = f'[temporal]\naddress = "{server}"\ntask_queue = "{queue}"\n'
        config.write_text(f'engine = "temporal"\n{table}')
    if request.param == "sqlite":
        return str(home / "team.db")
    return str(request.getfixturevalue("postgres_dsn"))


async def answered(address: str, space: str, name: str) -> str:
    """Waits until the agent's turn has ended; returns its last words."""
    async with asyncio.timeout(60), open(address, space=space) as db:
        agent = await db.find(name)
        async for recorded in agent.follow():
            if recorded.kind == "turn.completed":
                return (await agent.request()).messages[-1].text
    raise AssertionError("a log is followed for ever")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_takes_work_up_and_leaves_when_it_is_told_to(
    sapwood: Sapwooder, address: str, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    space = f"worker-{secrets.token_hex(4)}"
    monkeypatch.setenv("SAPWOOD_DATABASE", address)
    monkeypatch.setenv("SAPWOOD_SPACE", space)
    with ScriptedModel() as model:
        model.script(lambda _: "In the roof.")
        sapwood("config", "set", "base_urls.den", model.openai_url)
        asyncio.run(start(address, space))
        worker = subprocess.Popen(
            [sys.executable, "-m", "sapwood.cli", "worker"], stderr=subprocess.PIPE
        )
        assert worker.stderr is not None
        heard = b""
        while b"Running the agents of" not in heard:
            piece = os.read(worker.stderr.fileno(), 1000)
            assert piece, heard
            heard += piece
        forked = sapwood("fork", "lead", "--name", "leak", "--goal", "Find the leak.")
        assert forked.code == 0
        assert asyncio.run(answered(address, space, "leak")) == "In the roof."
        worker.send_signal(number)
        _, rest = worker.communicate(timeout=60)
    assert worker.returncode == 0
    assert b"Stopping." in rest
    assert b"Traceback" not in heard + rest


async def start(address: str, space: str) -> None:
    async with open(address, space=space) as db:
        await db.start("lead", model="den:qwen3")


TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
APP = """
import os
import sapwood

def leak(room: str) -> str:
    '''Finds leaks.'''
    return f"a leak in the {room}"

runtime = sapwood.runtime(tools=[leak], models={}, urls={"den": os.environ["DEN"]})
nothing = 3
"""


def test_one_worker_runs_the_tools_of_a_program_in_all_spaces_of_a_pattern(
    sapwood: Sapwooder, address: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = f"team-{secrets.token_hex(4)}"
    (home / "barn.py").write_text(APP)
    monkeypatch.setenv("SAPWOOD_DATABASE", address)
    monkeypatch.chdir(home)
    with ScriptedModel() as model:
        model.script(
            lambda asked: (
                f"Found {asked.results[0].content}."
                if asked.results
                else call("leak", {"room": asked.messages[-1].text})
            )
        )
        monkeypatch.setenv("DEN", model.openai_url)
        command = [sys.executable, "-m", "sapwood.cli", "worker"]
        command += ["--app", "barn:runtime", "--spaces", f"{team}-*", "--at-once", "8"]
        command += ["--log-format", "json"]
        worker = subprocess.Popen(command, stderr=subprocess.PIPE)
        try:
            said = asyncio.run(ask_everywhere(address, [f"{team}-a", f"{team}-b"]))
        finally:
            worker.terminate()
            _, errors = worker.communicate(timeout=60)
    assert said == ["Found a leak in the roof.", "Found a leak in the roof."]
    assert worker.returncode == 0, errors
    assert f"spaces {team}-*".encode() in errors
    assert b", space " not in errors
    assert b"Traceback" not in errors
    ends = [each for each in map(json.loads, errors.splitlines()) if "event" in each]
    assert sorted(each["space"] for each in ends) == [f"{team}-a", f"{team}-b"]
    for each in ends:
        assert (each["event"], each["turn"], each["calls"]) == ("turn.completed", 1, 2)
        assert (each["model"], each["trace"]) == ("den:qwen3", TRACE)
        assert each["agent"]
        assert each["input_tokens"]
        assert each["cost"] == 0, "the price of this model is not known"
    assert b"roof" not in errors


async def ask_everywhere(address: str, spaces: list[str]) -> list[str]:
    """Leaves a prompt in each space, and in one that is not served; returns the answers."""
    async with asyncio.timeout(90), open(address, space=f"other-{spaces[0]}") as db:
        other = await db.start("lead", model="den:qwen3")
        await other.prompt("roof")
        agents = [await db.space(name).start("lead", model="den:qwen3") for name in spaces]
        replies = await asyncio.gather(*(_text(agent) for agent in agents))
        assert [event.kind for event in await other.events()][-1] == "turn.started"
    return replies


async def _text(agent: Agent) -> str:
    with within_trace(TRACE):
        return (await agent.ask("roof")).text


def test_a_question_outlives_its_killed_worker_and_its_tool_runs_once(
    sapwood: Sapwooder, address: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any process answers, and the next worker continues the turn."""
    monkeypatch.setenv("SAPWOOD_DATABASE", address)
    monkeypatch.setenv("SAPWOOD_SPACE", f"asked-{secrets.token_hex(4)}")
    program = [sys.executable, "-m", "sapwood.cli"]
    project = home / "project"
    with ScriptedModel() as model:
        model.script(
            lambda asked: "Done." if asked.results else call("shell", {"command": "echo 1 >> ran"})
        )
        sapwood("config", "set", "base_urls.den", model.openai_url)
        sapwood("config", "set", "sandbox_ask", "true")
        with (home / "first.log").open("wb") as log:
            first = subprocess.Popen([*program, "worker"], stderr=log)
        try:
            asyncio.run(until_asked(address, project, home / "first.log"))
        except TimeoutError:
            pytest.fail((home / "first.log").read_text())
        finally:
            first.kill()
            first.wait()
        listed = subprocess.run([*program, "answer"], capture_output=True, text=True, check=True)
        [question] = re.findall(r"sapwood answer (\w+) yes", listed.stdout)
        subprocess.run([*program, "answer", question, "yes"], check=True, stdout=subprocess.DEVNULL)
        assert not (project / "ran").exists()
        second = subprocess.Popen([*program, "worker"], stderr=subprocess.PIPE)
        try:
            said = asyncio.run(answered(address, os.environ["SAPWOOD_SPACE"], "lead"))
        finally:
            second.terminate()
            _, errors = second.communicate(timeout=60)
        asked = len(model.requests)
    assert said == "Done."
    assert (project / "ran").read_text() == "1\n"
    assert asked == 2, "each reply of the model was asked for once"
    assert second.returncode == 0, errors
    assert b"Traceback" not in errors


async def until_asked(address: str, folder: Path, log: Path) -> None:
    """Gives a prompt to the worker with this log, and waits until a tool call needs an answer."""
    async with asyncio.timeout(120), open(address, space=os.environ["SAPWOOD_SPACE"]) as db:
        await eventually(lambda: b"Running the agents of" in log.read_bytes())
        agent = await db.start("lead", model="den:qwen3", folder=str(folder))
        await agent.prompt("Run it.")
        async for recorded in agent.follow():
            if recorded.kind == "question.asked":
                return


@pytest.mark.parametrize(
    ("app", "why"),
    [
        ("nowhere:runtime", "nowhere cannot be imported"),
        ("barn:missing", "barn has no missing"),
        ("barn:nothing", "barn:nothing is not a Sapwood runtime"),
    ],
)
def test_a_program_that_has_no_runtime_is_refused(
    sapwood: Sapwooder, home: Path, monkeypatch: pytest.MonkeyPatch, app: str, why: str
) -> None:
    (home / "barn.py").write_text(APP)
    monkeypatch.setenv("DEN", "http://127.0.0.1:9/v1")
    monkeypatch.chdir(home)
    refused = sapwood("worker", "--app", app)
    assert refused.code == 2
    assert why in refused.err


@pytest.mark.parametrize("option", [("--spaces", "*"), ("--app", "barn:runtime")])
def test_a_worker_of_a_program_without_a_database_says_so_and_ends(
    sapwood: Sapwooder, home: Path, monkeypatch: pytest.MonkeyPatch, option: tuple[str, str]
) -> None:
    (home / "barn.py").write_text(APP)
    monkeypatch.setenv("DEN", "http://127.0.0.1:9/v1")
    monkeypatch.chdir(home)
    monkeypatch.delenv("SAPWOOD_DATABASE", raising=False)
    refused = sapwood("worker", *option)
    assert refused.code == 1
    assert "SAPWOOD_DATABASE" in refused.err


def test_a_worker_tells_its_health_and_logs_json(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAPWOOD_DATABASE", str(home / "team.db"))
    command = [sys.executable, "-m", "sapwood.cli", "worker", "--health", "0"]
    worker = subprocess.Popen([*command, "--log-format", "json"], stderr=subprocess.PIPE, text=True)
    assert worker.stderr is not None
    lines: list[dict[str, str]] = []
    try:
        while not lines or not lines[-1]["message"].startswith("Running the agents"):
            lines.append(json.loads(worker.stderr.readline()))
        [place] = [each["message"] for each in lines if "Health and metrics" in each["message"]]
        url = place.split()[3].removesuffix("/healthz,")
        with urllib.request.urlopen(f"{url}/readyz", timeout=30) as answer:
            assert answer.read() == b"ready\n"
        with urllib.request.urlopen(f"{url}/metrics", timeout=30) as answer:
            assert b"sapwood_info" in answer.read()
    finally:
        worker.terminate()
        _, rest = worker.communicate(timeout=60)
    lines += [json.loads(line) for line in rest.splitlines()]
    assert lines[-1]["message"].startswith("Stopping.")
    assert {"time", "level", "logger", "message", "process"} <= set(lines[-1])


def test_a_warning_is_logged_once_as_json_with_its_fields(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with log_in("json"), log_to_folder(tmp_path, 0), within_fields(space="acme", agent="a1"):
        logging.getLogger("sapwood.engine").warning("It failed with sk-ant-%s.", "a1b2c3" * 8)
    line = json.loads(capsys.readouterr().err)
    assert (line["level"], line["space"], line["agent"]) == ("warning", "acme", "a1")
    assert "a1b2c3a1b2c3" not in line["message"]


@pytest.mark.parametrize("place", ["http", "127.0.0.1:http", "99999", ""])
def test_a_place_that_is_no_port_is_refused(sapwood: Sapwooder, place: str) -> None:
    refused = sapwood("worker", "--health", place)
    assert refused.code == 2
    assert "Give a port" in refused.err


def test_agents_of_an_encrypted_space_wait_for_a_worker_with_its_key(
    sapwood: Sapwooder, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cryptography", reason="the extra 'encryption' is not installed")
    space = f"closed-{secrets.token_hex(4)}"
    monkeypatch.setenv("SAPWOOD_DATABASE", address)
    monkeypatch.setenv("SAPWOOD_SPACE", space)
    command = [sys.executable, "-m", "sapwood.cli", "worker", "--spaces", "closed-*"]
    without_key = dict(os.environ)
    monkeypatch.setenv("SAPWOOD_ENCRYPTION_KEY", "A" * 43 + "=")
    with ScriptedModel() as model:
        model.script(lambda _: "In the roof.")
        sapwood("config", "set", "base_urls.den", model.openai_url)
        asyncio.run(start(address, space))
        forked = sapwood("fork", "lead", "--name", "leak", "--goal", "Find the leak.")
        assert forked.code == 0
        first = subprocess.Popen(command, stderr=subprocess.PIPE, env=without_key)
        second: subprocess.Popen[bytes] | None = None
        heard = b""
        try:
            assert first.stderr is not None
            while b"to another worker" not in heard:
                piece = os.read(first.stderr.fileno(), 10_000)
                assert piece, heard
                heard += piece
            second = subprocess.Popen(command, stderr=subprocess.PIPE)
            assert asyncio.run(answered(address, space, "leak")) == "In the roof."
        finally:
            first.terminate()
            heard += first.communicate(timeout=60)[1]
            if second is not None:
                second.terminate()
                heard += second.communicate(timeout=60)[1]
    assert second is not None
    assert (first.returncode, second.returncode) == (0, 0)
    assert heard.count(b"to another worker") == 1
    assert b"Traceback" not in heard
