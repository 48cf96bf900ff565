"""Over stdio, a program gets the tools and their answers."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from sapwood.api import open
from sapwood.context_actions.context_request import ACTIONS
from sapwood.core.command_table import TABLE
from sapwood.imports.importer import Importer

pytest.importorskip("mcp", reason="the library for MCP servers is not installed (extra: mcp)")

from tests.mcp_server.calling import PROGRAM, stdio, text_of


async def test_the_tools_are_those_of_the_declarations(
    project: Path, environ: dict[str, str]
) -> None:
    async with stdio(project, environ) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == {"context", "slash"}
    actions = tools["context"].input_schema["properties"]["action"]["enum"]
    assert actions == [action.name for action in ACTIONS]
    taken = {name for action in ACTIONS for name in action.takes}
    assert taken <= set(tools["context"].input_schema["properties"])
    commands = tools["slash"].input_schema["properties"]["command"]["enum"]
    assert commands == [command.name for command in TABLE.for_models]


async def test_the_session_of_the_folder_is_the_one_that_is_tended(
    project: Path, environ: dict[str, str], home: Path
) -> None:
    async with stdio(project, environ) as client:
        ledger = await client.call_tool("context", {"action": "ledger", "json": True})
        assert json.loads(text_of(ledger))["commands"][0]["command"] == "echo two"
        archived = await client.call_tool("context", {"action": "archive"})
        assert text_of(archived).startswith("Archived ")
        estimated = await client.call_tool("context", {"action": "estimate"})
        assert "turns in view" in text_of(estimated)
        focused = await client.call_tool("context", {"action": "focus", "topic": "OAuth"})
        assert text_of(focused) == "In focus:\n  1. OAuth"
    (archive,) = (home / "data" / "archives").iterdir()
    assert f"Project: {project}" in archive.read_text()
    acts = (home / "data" / "journal.jsonl").read_text().splitlines()
    assert [json.loads(act)["did"] for act in acts] == ["archived", "focused"]


async def test_what_cannot_be_done_is_told_as_an_error(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    async with stdio(tmp_path, environ) as client:
        nothing = await client.call_tool("context", {"action": "drift"})
        assert nothing.is_error
        assert "or Sapwood session in" in text_of(nothing)
        unknown = await client.call_tool("context", {"action": "forget"})
        assert unknown.is_error
        assert "do not fit" in text_of(unknown)
        stray = await client.call_tool("context", {"action": "drift", "topics": "x"})
        assert stray.is_error


async def test_slash_acts_for_an_own_agent_as_its_model_may(
    tmp_path: Path, environ: dict[str, str], home: Path
) -> None:
    (home / "data").mkdir()
    address = home / "data" / "sapwood.db"
    async with open(address) as db:
        demo = await db.start("demo")
        await demo.record("Where do herons nest?", "In tall trees.")
    async with stdio(tmp_path, environ, "--agent", "demo") as client:

        async def slash(command: str, args: str = "") -> str:
            told = {"command": command, "args": args}
            return text_of(await client.call_tool("slash", told))

        assert await slash("mark", "HERE") == "Marked 'HERE'."
        assert "herons" in await slash("recall", "herons")
        assert "Forked. Child:" in await slash("fork")
        assert await slash("wait", "1") != ""
        assert "Models may not use" in await slash("undo")
    async with open(address) as db:
        state = await (await db.find("demo")).state()
    assert [mark.name for mark in state.marks] == ["HERE"]


async def test_slash_never_acts_for_an_agent_that_the_caller_names(
    tmp_path: Path, environ: dict[str, str], home: Path
) -> None:
    (home / "data").mkdir()
    address = home / "data" / "sapwood.db"
    async with open(address) as db:
        await db.start("mine")
        other = await db.start("other")
        await other.record("The password of the safe?", "herons-7")
    for args in ((), ("--agent", "mine"), ("--all-projects",)):
        async with stdio(tmp_path, environ, *args) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(tools["slash"].input_schema["properties"]) == {"command", "args"}
            for command, words in (("recall", "safe"), ("mark", "A"), ("fork", "-- obey")):
                told = {"command": command, "args": words, "agent": "other"}
                answer = await client.call_tool("slash", told)
                assert answer.is_error, (args, command)
                assert "herons-7" not in text_of(answer)
    async with open(address) as db:
        state = await (await db.find("other")).state()
        assert not state.marks
        assert len(await db.agents()) == 2


async def test_without_a_known_session_slash_says_how_to_name_an_agent(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    async with stdio(tmp_path, environ) as client:
        answer = await client.call_tool("slash", {"command": "mark", "args": "A"})
    assert answer.is_error
    assert "sapwood mcp --agent NAME" in text_of(answer)


async def test_slash_acts_for_the_session_that_started_the_server(
    project: Path, environ: dict[str, str], home: Path
) -> None:
    (transcript,) = (home / ".claude" / "projects").rglob("*.jsonl")
    (home / "data").mkdir()
    async with open(home / "data" / "sapwood.db") as db:
        await Importer(db.connection).bring(transcript)
        (imported,) = await db.agents()
    known = {**environ, "CLAUDE_CODE_SESSION_ID": imported.session}
    async with stdio(project, known) as client:
        marked = await client.call_tool("slash", {"command": "mark", "args": "A"})
        assert text_of(marked) == "Marked 'A'."
    async with open(home / "data" / "sapwood.db") as db:
        state = await (await db.find(imported.agent)).state()
    assert [mark.name for mark in state.marks] == ["A"]


@pytest.mark.parametrize("field", ["folder", "session", "transcript"])
async def test_context_reads_no_other_project_unless_the_user_allowed_it(
    project: Path, tmp_path: Path, environ: dict[str, str], home: Path, field: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (transcript,) = (home / ".claude" / "projects").rglob("*.jsonl")
    named = {"folder": project, "session": transcript.stem, "transcript": transcript}[field]
    asked = {"action": "ledger", field: str(named)}
    async with stdio(elsewhere, environ) as client:
        (context, _) = (await client.list_tools()).tools
        assert field not in context.input_schema["properties"]
        refused = await client.call_tool("context", asked)
        assert refused.is_error
        assert "--all-projects" in text_of(refused)
    async with stdio(elsewhere, environ, "--all-projects") as client:
        assert "echo two" in text_of(await client.call_tool("context", asked))
        written = await client.call_tool("context", {**asked, "action": "archive"})
        assert written.is_error
        assert "works only for reading" in text_of(written)


async def test_search_finds_what_belongs_to_the_project_and_nothing_else(
    project: Path, tmp_path: Path, environ: dict[str, str], home: Path
) -> None:
    (home / "data" / "archives").mkdir(parents=True)
    archive = "---\nTopic: safe\nProject: {}\n---\n\nContext excerpt:\nherons {}\n"
    for name, folder in (("mine", project), ("theirs", tmp_path / "theirs")):
        file = home / "data" / "archives" / f"{name}.txt"
        file.write_text(archive.format(folder, f"archived-{name}"))
    async with open(home / "data" / "sapwood.db") as db:
        for name, folder in (("mine", project), ("theirs", tmp_path / "theirs")):
            agent = await db.start(name, folder=str(folder))
            await agent.record(f"Where do herons nest, {name}?", f"In tall trees, {name}.")
            await (await agent.fork()).record(f"And do herons of {name} fly?", "They do.")
    asked = {"action": "search", "query": "herons"}
    async with stdio(project, environ) as client:
        found = text_of(await client.call_tool("context", asked))
    assert "mine" in found
    assert "archived-mine" in found
    assert "herons of mine" in found
    assert "theirs" not in found
    async with stdio(project, environ, "--all-projects") as client:
        assert "theirs" in text_of(await client.call_tool("context", asked))


async def test_a_focus_of_a_model_is_not_told_to_other_sessions(
    project: Path, environ: dict[str, str], home: Path
) -> None:
    (transcript,) = (home / ".claude" / "projects").rglob("*.jsonl")
    text = transcript.read_text()
    own = json.loads(text.splitlines()[0])["sessionId"]
    transcript.with_name("s-2.jsonl").write_text(text.replace(own, "s-2"))
    sessions = [{**environ, "CLAUDE_CODE_SESSION_ID": each} for each in ("s-1", "s-2")]
    focus = {"action": "focus", "topic": "Obey the heron"}
    async with stdio(project, sessions[0]) as client:
        assert "Obey the heron" in text_of(await client.call_tool("context", focus))
        assert "Obey the heron" in text_of(await client.call_tool("context", {"action": "resume"}))
    async with stdio(project, sessions[1]) as client:
        stack = await client.call_tool("context", {"action": "focus"})
        resumed = await client.call_tool("context", {"action": "resume"})
    assert not resumed.is_error
    assert "heron" not in text_of(stack) + text_of(resumed)


async def test_a_note_of_a_model_is_kept_for_its_own_session_only(
    project: Path, environ: dict[str, str], home: Path
) -> None:
    (transcript,) = (home / ".claude" / "projects").rglob("*.jsonl")
    text = transcript.read_text()
    own = json.loads(text.splitlines()[0])["sessionId"]
    transcript.with_name("s-2.jsonl").write_text(text.replace(own, "s-2"))
    sessions = [{**environ, "CLAUDE_CODE_SESSION_ID": each} for each in ("s-1", "s-2")]
    note = {"action": "note", "note": "decision", "text": "Obey the heron"}
    async with stdio(project, sessions[0]) as client:
        assert "decision: Obey the heron" in text_of(await client.call_tool("context", note))
        assert "Obey the heron" in text_of(await client.call_tool("context", {"action": "resume"}))
        other = await client.call_tool("context", {**note, "session": "s-2"})
        assert other.is_error
    async with stdio(project, sessions[1]) as client:
        notes = await client.call_tool("context", {"action": "note"})
        resumed = await client.call_tool("context", {"action": "resume"})
    assert not resumed.is_error
    assert "heron" not in text_of(notes) + text_of(resumed)


async def test_a_model_cannot_take_the_users_topic_out_of_focus(
    project: Path, environ: dict[str, str]
) -> None:
    said = await asyncio.create_subprocess_exec(
        *(*PROGRAM[:-1], "context", "focus", "Storks"), cwd=project, env=environ
    )
    assert await said.wait() == 0
    async with stdio(project, environ) as client:
        refused = await client.call_tool("context", {"action": "unfocus", "topic": "storks"})
        assert refused.is_error
        assert "only the user" in text_of(refused)
        stack = await client.call_tool("context", {"action": "focus", "topic": "Herons"})
    assert text_of(stack) == "In focus:\n  1. Storks\n  2. Herons"


async def test_every_action_and_command_is_a_prompt_too(
    project: Path, environ: dict[str, str]
) -> None:
    async with stdio(project, environ) as client:
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        given = await client.get_prompt("handoff", {"target_agent": "reviewer"})
        slash = await client.get_prompt("mark", {"args": "HERE"})
    assert names == [*(a.name for a in ACTIONS), *(c.name for c in TABLE.for_models)]
    assert len(names) == len(set(names))
    words = [str(said.content) for said in (*given.messages, *slash.messages)]
    assert '"action": "handoff", "target_agent": "reviewer"' in words[0]
    assert '"command": "mark", "args": "HERE"' in words[1]


async def test_noise_and_cancelled_calls_do_not_end_the_server(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    server = await asyncio.create_subprocess_exec(
        *PROGRAM,
        cwd=tmp_path,
        env=environ,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    wait = {"name": "slash", "arguments": {"command": "wait", "args": "50"}}
    for message in (
        b"noise",
        _line("tools/call", 1, wait),
        _line("notifications/cancelled", None, {"requestId": 1}),
        _line("ping", 2, {}),
    ):
        server.stdin.write(message + b"\n")
    async with asyncio.timeout(60):
        noise, pong = [json.loads(await server.stdout.readline()) for _ in range(2)]
    assert noise["error"]["code"] == -32700
    assert pong == {"jsonrpc": "2.0", "id": 2, "result": {}}
    server.stdin.close()
    async with asyncio.timeout(60):
        assert await server.wait() == 0


def _line(method: str, id: int | None, params: Mapping[str, object]) -> bytes:
    request = {} if id is None else {"id": id}
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **request}).encode()
