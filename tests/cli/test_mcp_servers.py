"""`sapwood mcp list`, `login` and `logout`: servers whose tools agents use."""

import asyncio
import json
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the extra 'mcp' is not installed")

from scripted_model import ScriptedModel
from tests.cli.calling import Ran, Sapwooder
from tests.workspace.mcp_client.login_server import LoginServer, load, login_server, visit
from tests.workspace.tool_calls import until

PROGRAM = Path(__file__).parents[1] / "workspace" / "mcp_client" / "small_server.py"


@pytest.fixture
async def docs(home: Path) -> AsyncGenerator[LoginServer]:
    """A server that asks for a login, and a configuration that names it and a program."""
    async with login_server() as server:
        file = home / ".config/sapwood/config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        command = json.dumps([sys.executable, str(PROGRAM)])
        with file.open("a") as config:
            config.write(f'[servers.docs]\nurl = "{server.url}"\n')
            config.write(f"[servers.wood]\ncommand = {command}\n")
        yield server


async def started(*args: str) -> Process:
    command = (sys.executable, "-m", "sapwood.cli", "mcp", *args)
    return await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE)


async def ended(process: Process) -> Ran:
    out, err = await process.communicate()
    assert process.returncode is not None
    return Ran(process.returncode, out.decode(), err.decode())


async def called(*args: str) -> Ran:
    return await ended(await started(*args))


async def called_config(*args: str) -> Ran:
    command = (sys.executable, "-m", "sapwood.cli", "config", *args)
    return await ended(await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE))


async def shown_address(process: Process) -> str:
    """The address that the program prints."""
    assert process.stdout is not None
    while line := (await process.stdout.readline()).decode():
        if line.startswith("http"):
            return line.strip()
    raise AssertionError((await ended(process)).err)


async def logged_in() -> Ran:
    process = await started("login", "docs", "--no-browser")
    end = await visit(await shown_address(process))
    assert (await load(end)).status_code == 200
    return await ended(process)


def logs(home: Path) -> list[Path]:
    return list(home.rglob("sapwood.log"))


def states(ran: Ran) -> dict[str, str]:
    return {each["name"]: each["state"] for each in map(json.loads, ran.out.splitlines())}


async def test_a_login_is_made_shown_and_deleted(docs: LoginServer, home: Path) -> None:
    listed = await called("list")
    assert listed.code == 1
    assert (
        "docs  needs login: MCP server 'docs' asks for a login. Type: sapwood mcp login docs"
        in (listed.out)
    )
    assert "wood  connected: " in listed.out
    assert listed.err == ""

    ran = await logged_in()
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith("Logged in to docs: connected, 3 tools\n")
    file = home / ".config/sapwood/mcp-logins.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert states(await called("list", "--json")) == {"docs": "connected", "wood": "connected"}

    docs.authorization.revoke_all()
    assert states(await called("list", "--json"))["docs"] == "expired"
    assert (await called("logout", "docs")).out == "Deleted the stored login for docs.\n"
    assert (await called("logout", "docs")).out == "There is no stored login for docs.\n"
    assert states(await called("list", "--json"))["docs"] == "needs login"
    assert file.read_text() == "{}"


async def test_a_browser_is_opened_and_its_answer_received(
    docs: LoginServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = home / "browser.py"
    browser.write_text("import sys, urllib.request\nurllib.request.urlopen(sys.argv[1]).read()\n")
    monkeypatch.setenv("BROWSER", f"{sys.executable} {browser} %s")
    process = await started("login", "docs")
    assert (await shown_address(process)).startswith(f"{docs.origin}/authorize?")
    ran = await ended(process)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith("Logged in to docs: connected, 3 tools\n")


async def test_tokens_are_in_no_output_and_no_log(docs: LoginServer, home: Path) -> None:
    ran = await logged_in()
    docs.authorization.expire_access()
    again = await called("list", "-vv")
    (log,) = await asyncio.to_thread(lambda: [each.read_text() for each in logs(home)])
    assert "sapwood mcp list on" in log
    told = ran.out + ran.err + again.out + again.err + log
    issued = {*docs.authorization.access, *docs.authorization.refresh, *docs.authorization.used}
    assert len(issued) == 3
    assert [token for token in issued if token in told] == []


async def test_the_address_where_the_browser_ended_can_be_pasted(docs: LoginServer) -> None:
    process = await started("login", "docs", "--no-browser")
    end = await visit(await shown_address(process))
    assert process.stdin is not None
    process.stdin.write(b"\nhttp://127.0.0.1:1/callback?code=1&state=2\n")
    await process.stdin.drain()
    assert process.stderr is not None
    wrong = (await process.stderr.readline()).decode()
    assert wrong.startswith("This address does not belong to this login. Paste the whole address")
    process.stdin.write(f"{end}\n".encode())
    ran = await ended(process)
    assert (ran.code, ran.err) == (0, "")
    assert "Logged in to docs: connected" in ran.out


async def test_an_input_that_ends_with_a_wrong_address_ends_the_login(docs: LoginServer) -> None:
    process = await started("login", "docs", "--no-browser")
    await shown_address(process)
    assert process.stdin is not None
    process.stdin.write(b"https://example.org")
    process.stdin.write_eof()
    ran = await ended(process)
    assert ran.code == 1
    assert "does not belong to this login. Nothing was stored." in ran.err
    assert "Traceback" not in ran.err


async def test_ctrl_c_during_a_login_leaves_nothing_behind(docs: LoginServer, home: Path) -> None:
    process = await started("login", "docs", "--no-browser")
    address = await shown_address(process)
    end = await visit(address)
    process.send_signal(signal.SIGINT)
    ran = await ended(process)
    assert ran.code == 5
    assert "Traceback" not in ran.err
    folder = home / ".config/sapwood"
    assert [file.name for file in folder.iterdir()] == ["config.toml"]
    assert docs.authorization.access == {}
    with pytest.raises(OSError, match="Connect call failed"):
        await asyncio.open_connection("127.0.0.1", int(re.findall(r":(\d+)/", end)[0]))


async def test_two_processes_renew_a_login_once(docs: LoginServer, home: Path) -> None:
    await logged_in()
    docs.authorization.expire_access()
    docs.authorization.may_renew.clear()
    docs.requests.clear()
    processes = [await started("list", "--json") for _ in range(2)]
    await until(lambda: len([path for _, path, _ in docs.requests if path == "/mcp"]) == 2)
    docs.authorization.may_renew.set()
    for ran in await asyncio.gather(*map(ended, processes)):
        assert states(ran)["docs"] == "connected", ran.out
    assert (docs.authorization.renewals, docs.authorization.reuses) == (1, 0)


async def test_a_run_goes_on_without_a_server_that_asks_for_a_login(
    model: ScriptedModel, docs: LoginServer, program: Sapwooder
) -> None:
    model.script(lambda _: "There you are.")
    ran = await asyncio.to_thread(program, "run", "--new", "-p", "Hello")
    assert (ran.code, ran.out) == (0, "There you are.\n")
    assert "asks for a login. Type: sapwood mcp login docs" in ran.err
    assert "Traceback" not in ran.err
    (request,) = model.requests
    offered = json.dumps(request.body)
    assert "wood__rings" in offered
    assert "docs__" not in offered


async def test_a_server_with_a_token_of_its_own_needs_no_login(
    docs: LoginServer, home: Path
) -> None:
    assert (
        await called_config("set", "servers.docs.headers.Authorization", "Bearer fixed")
    ).code == 0
    ran = await called("login", "docs")
    assert ran.code == 1
    assert "sapwood config unset servers.docs.headers.Authorization" in ran.err
    assert docs.requests == []


@pytest.mark.parametrize("command", ["login", "logout"])
async def test_a_server_that_cannot_be_logged_in_to_is_told(
    docs: LoginServer, command: str
) -> None:
    ran = await called(command, "dosc")
    assert ran.code == 1
    assert "has no MCP server 'dosc'. Did you mean docs?" in ran.err
    ran = await called(command, "wood")
    assert ran.code == 1
    assert "is a program that Sapwood starts" in ran.err


def test_without_servers_the_list_says_how_to_add_one(sapwood: Sapwooder) -> None:
    ran = sapwood("mcp", "list")
    assert (ran.code, ran.out.startswith("No MCP server is configured. To add one")) == (0, True)
    assert sapwood("mcp", "list", "--json").out == ""


async def test_doctor_says_what_to_type_and_which_tool_is_misspelt(
    docs: LoginServer, home: Path
) -> None:
    file = home / ".config/sapwood/config.toml"
    file.write_text(file.read_text() + 'enabled_tools = ["rigns"]\n')
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "sapwood.cli", "doctor", "--json", stdout=PIPE, stderr=PIPE
    )
    ran = await ended(process)
    found = {each["topic"]: each for each in map(json.loads, ran.out.splitlines())}
    assert found["server: docs"]["state"] == "broken"
    assert found["server: docs"]["says"].endswith("Type: sapwood mcp login docs")
    assert found["server: wood"]["state"] == "open"
    assert "has no tool 'rigns'" in found["server: wood"]["says"]
    assert "Did you mean rings?" in found["server: wood"]["says"]
