"""`sapwood acp`: a real client of the protocol talks to the program over its stdin and stdout."""

import asyncio
import base64
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from scripted_model import ModelRequest, ScriptedModel, call

pytest.importorskip("acp", reason="the extra 'acp' is not installed")

from acp import (
    PROTOCOL_VERSION,
    RequestError,
    connect_to_agent,
    image_block,
    resource_block,
    text_block,
)
from acp.client import ClientSideConnection
from acp.connection import StreamDirection, StreamEvent
from acp.schema import (
    AllowedOutcome,
    AvailableCommandsUpdate,
    BlobResourceContents,
    DeniedOutcome,
    PermissionOption,
    RequestPermissionResponse,
    ToolCallUpdate,
)

from sapwood.app.connection import connect
from sapwood.app.engines import LazyEngine
from sapwood.config.config_file import Config
from sapwood_acp.acp_agent import AcpAgent


class Editor:
    """What an editor does: it keeps the updates and answers questions."""

    def __init__(self, answer: str = "y") -> None:
        self.answer = answer
        self.updates: list[Any] = []
        self.received: list[dict[str, Any]] = []
        self.asked: list[tuple[ToolCallUpdate, list[PermissionOption]]] = []
        self.changed = asyncio.Condition()

    def observe(self, event: StreamEvent) -> None:
        if event.direction is StreamDirection.INCOMING:
            self.received.append(event.message)

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        async with self.changed:
            self.updates.append(update)
            self.changed.notify_all()

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        self.asked.append((tool_call, options))
        if self.answer == "cancelled":
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(
            outcome=AllowedOutcome(outcome="selected", option_id=self.answer)
        )

    def on_connect(self, conn: object) -> None:
        pass

    def said(self, kind: str = "agent_message_chunk") -> str:
        found = [each.content.text for each in self.updates if each.session_update == kind]
        return "".join(found)

    def of(self, kind: str) -> list[Any]:
        return [each for each in self.updates if each.session_update == kind]

    async def until_said(self, words: str) -> None:
        async with self.changed:
            await self.changed.wait_for(lambda: words in self.said())


@asynccontextmanager
async def connected(editor: Editor, *options: str) -> AsyncGenerator[ClientSideConnection]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "sapwood.cli",
        "acp",
        *options,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    client: Any = editor  # an editor without files and terminals of its own
    connection = connect_to_agent(
        client,
        process.stdin,
        process.stdout,
        use_unstable_protocol=True,
        observers=[editor.observe],
    )
    try:
        await connection.initialize(protocol_version=PROTOCOL_VERSION)
        yield connection
    finally:
        await connection.close()
        assert process.stdin is not None
        process.stdin.close()
        assert await process.wait() == 0


def written() -> str | None:
    file = Path("notes.txt")
    return file.read_text() if file.exists() else None


async def test_a_prompt_streams_and_ends(model: ScriptedModel) -> None:
    model.replies(["Forty-two."])
    editor = Editor()
    async with connected(editor) as agent:
        session = await agent.new_session(cwd=os.getcwd(), mcp_servers=[])
        done = await agent.prompt(
            session_id=session.session_id, prompt=[text_block("What is 6 x 7?")]
        )
    assert done.stop_reason == "end_turn"
    assert editor.said() == "Forty-two."
    kinds = ["update" if "method" in each else "answer" for each in editor.received]
    assert kinds[:3] == ["answer", "answer", "update"]  # an editor must know the session first
    [commands] = editor.of("available_commands_update")
    assert isinstance(commands, AvailableCommandsUpdate)
    assert {"clear", "rewind", "undo"} <= {each.name for each in commands.available_commands}


async def test_commands_trim_what_the_model_sees(model: ScriptedModel) -> None:
    seen: list[ModelRequest] = []
    model.script(seen.append)
    model.replies(["One.", "Two.", "Three.", "Four."])
    editor = Editor()
    async with connected(editor) as agent:
        session = (await agent.new_session(cwd=os.getcwd(), mcp_servers=[])).session_id

        async def send(text: str) -> str:
            done = await agent.prompt(session_id=session, prompt=[text_block(text)])
            return done.stop_reason

        for text in ("First.", "Second.", "/clear 1", "Third.", "/undo", "Fourth."):
            assert await send(text) == "end_turn"
        with pytest.raises(RequestError, match="/claer"):
            await send("/claer 1")
    requests = [[message.text for message in each.messages] for each in seen]
    assert requests[2] == ["Second.", "Two.", "Third."]
    assert requests[3][0] == "First."
    assert "Three." in requests[3]


@pytest.mark.parametrize("line", ["/new", "/start", "/switch {id}", "/resume {id}", "/exit"])
async def test_a_thread_stays_with_its_conversation(model: ScriptedModel, line: str) -> None:
    model.replies(["One.", "Two."])
    editor = Editor()
    async with connected(editor) as agent:
        session = (await agent.new_session(cwd=os.getcwd(), mcp_servers=[])).session_id
        await agent.prompt(session_id=session, prompt=[text_block("First.")])
        typed = text_block(f"/mark A\n{line.format(id=session)}")
        with pytest.raises(RequestError, match="Open a new thread in the editor"):
            await agent.prompt(session_id=session, prompt=[typed])
        listed = await agent.list_sessions(cwd=os.getcwd())
        assert [each.session_id for each in listed.sessions] == [session]
        await agent.prompt(session_id=session, prompt=[text_block("Second.")])
    assert editor.said().endswith("Two.")
    [commands] = editor.of("available_commands_update")
    assert not {"new", "start", "switch", "exit"} & {
        each.name for each in commands.available_commands
    }


async def test_pictures_and_other_files_are_sent_with_the_prompt(model: ScriptedModel) -> None:
    model.replies(["A dot."])
    dot = base64.b64encode(b"GIF89a\2\0\1\0").decode()
    paper = base64.b64encode(b"%PDF-1.7").decode()
    picture = image_block(dot, "image/gif", uri="file:///my%20dot.gif")
    blob = BlobResourceContents(blob=paper, mime_type="application/pdf", uri="file:///paper.pdf")
    async with connected(Editor()) as agent:
        session = (await agent.new_session(cwd=os.getcwd(), mcp_servers=[])).session_id
        await agent.prompt(
            session_id=session, prompt=[text_block("What is it?"), picture, resource_block(blob)]
        )
        with pytest.raises(RequestError, match="Invalid params"):
            await agent.prompt(session_id=session, prompt=[text_block("/undo"), picture])
        with pytest.raises(RequestError, match="Invalid params"):
            await agent.prompt(session_id=session, prompt=[image_block("no base64!", "image/gif")])
    [request] = model.requests
    assert dot in (body := json.dumps(request.body))
    assert paper in body


async def test_tools_ask_in_the_editor(model: ScriptedModel) -> None:
    model.replies([call("write_file", path="notes.txt", content="kept\n"), "Written."])
    editor = Editor()
    async with connected(editor) as agent:
        session = (await agent.new_session(cwd=os.getcwd(), mcp_servers=[])).session_id
        await agent.prompt(session_id=session, prompt=[text_block("Write it.")])
    assert written() == "kept\n"
    [(question, options)] = editor.asked
    assert question.title == "The model wants to write notes.txt"
    assert "kept" in str(question.content)
    assert {each.kind for each in options} >= {"allow_once", "reject_once"}
    [started] = editor.of("tool_call")
    [finished] = editor.of("tool_call_update")
    assert started.tool_call_id == finished.tool_call_id
    assert (started.kind, finished.status) == ("edit", "completed")


@pytest.mark.parametrize("answer", ["n", "cancelled"])
async def test_a_denied_tool_changes_nothing(model: ScriptedModel, answer: str) -> None:
    model.replies([call("write_file", path="notes.txt", content="kept\n"), "As you wish."])
    editor = Editor(answer)
    async with connected(editor) as agent:
        session = (await agent.new_session(cwd=os.getcwd(), mcp_servers=[])).session_id
        await agent.prompt(session_id=session, prompt=[text_block("Write it.")])
    assert written() is None
    [finished] = editor.of("tool_call_update")
    assert finished.status == "failed"


async def test_cancel_keeps_what_had_arrived(model: ScriptedModel) -> None:
    editor = Editor()
    async with connected(editor) as agent:
        session = (await agent.new_session(cwd=os.getcwd(), mcp_servers=[])).session_id
        prompt = text_block("Count. [[stall: 60]] [[say: one two three four five six]]")
        running = asyncio.ensure_future(agent.prompt(session_id=session, prompt=[prompt]))
        await editor.until_said("one")
        await agent.cancel(session_id=session)
        done = await running
        assert done.stop_reason == "cancelled"


async def test_a_session_is_listed_loaded_and_forked(model: ScriptedModel) -> None:
    model.replies(["One.", "Two."])
    first = Editor()
    async with connected(first) as agent:
        session = (await agent.new_session(cwd=os.getcwd(), mcp_servers=[])).session_id
        await agent.prompt(session_id=session, prompt=[text_block("First.")])
    again = Editor()
    async with connected(again) as agent:
        listed = await agent.list_sessions(cwd=os.getcwd())
        assert [each.session_id for each in listed.sessions] == [session]
        await agent.load_session(cwd=os.getcwd(), session_id=session, mcp_servers=[])
        assert again.said("user_message_chunk") == "First."
        assert again.said() == "One."
        fork = await agent.fork_session(session_id=session, cwd=os.getcwd())
        assert fork.session_id != session
        await agent.prompt(session_id=fork.session_id, prompt=[text_block("Second.")])
        with pytest.raises(RequestError):
            await agent.load_session(cwd=os.getcwd(), session_id=session[:4], mcp_servers=[])


async def test_a_mode_is_a_permission_mode(model: ScriptedModel) -> None:
    model.replies([call("write_file", path="notes.txt", content="kept\n"), "Written."])
    editor = Editor()
    async with connected(editor) as agent:
        session = await agent.new_session(cwd=os.getcwd(), mcp_servers=[])
        assert session.modes is not None
        assert session.modes.current_mode_id == "ask"
        await agent.set_session_mode(session_id=session.session_id, mode_id="accept-edits")
        await agent.prompt(session_id=session.session_id, prompt=[text_block("Write it.")])
        with pytest.raises(RequestError):
            await agent.set_session_mode(session_id=session.session_id, mode_id="everything")
    assert written() == "kept\n"
    assert editor.asked == []


async def test_what_a_prompt_needs_is_imported_when_a_session_opens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    warmed = asyncio.Event()

    async def warm_up(self: LazyEngine) -> None:
        warmed.set()

    monkeypatch.setattr(LazyEngine, "warm_up", warm_up)
    connection = await connect(":memory:")
    agent = AcpAgent(connection, Config(model="claude-sonnet-5-5"), {})
    await agent.new_session(cwd=os.getcwd())
    async with asyncio.timeout(120):
        await warmed.wait()
    await agent.close()
    await connection.close()
