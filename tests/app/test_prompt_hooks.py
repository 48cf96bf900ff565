"""Hooks of the configuration at prompts, at the start of a conversation and at the end of turns."""

import asyncio
import json
from pathlib import Path

from sapwood.app.connection import connect
from sapwood.app.conversation_service import conversation_service
from sapwood.app.running_space import RunningSpace
from sapwood.config.config_file import Config, HookConfig
from sapwood.conversation.answers import Prompted
from sapwood.conversation.timeline_reader import read_conversation
from sapwood.core.events import TurnStarted
from sapwood.core.refusals import HookBlocked
from sapwood.core.timeline.row_content import PromptText, ToolUse
from scripted_model import ScriptedModel

_COMMAND = "cat > seen.json; grep -q secret seen.json && { echo 'It has a secret.' >&2; exit 2; }"


async def test_a_prompt_that_a_hook_blocks_is_not_stored(tmp_path: Path) -> None:
    config = Config(
        model="compatible:oak",
        base_urls={"compatible": "http://127.0.0.1:9"},
        hooks={"words": HookConfig("UserPromptSubmit", _COMMAND)},
    )
    connection = await connect(":memory:")
    try:
        service = conversation_service(connection, config, {})
        agent = await service.start(str(tmp_path))
        before = (await connection.dispatcher.open(agent)).state.version
        blocked = await service.prompt(agent, "Tell the secret.")
        assert blocked == HookBlocked("words", "It has a secret.")
        assert (await connection.dispatcher.open(agent)).state.version == before
        assert isinstance(await service.prompt(agent, "Hello."), Prompted)
        seen = json.loads((tmp_path / "seen.json").read_text())
        assert (seen["hook_event_name"], seen["prompt"]) == ("UserPromptSubmit", "Hello.")
        assert seen["cwd"] == str(tmp_path)
    finally:
        await connection.close()


_START = "cat > began.json; echo The tide is out."
_STOP = """given=$(cat); echo "$given" >> stops
case $given in *'"stop_hook_active":true'*) ;; *) echo 'Count again.' >&2; exit 2 ;; esac"""


async def test_what_start_prints_goes_with_the_first_prompt_and_stop_has_the_model_continue(
    tmp_path: Path,
) -> None:
    with ScriptedModel() as server:
        config = Config(
            database=":memory:",
            model="claude-sonnet-5-5",
            base_urls={"anthropic": server.anthropic_url},
            hooks={"tide": HookConfig("SessionStart", _START), "end": HookConfig("Stop", _STOP)},
        )
        server.replies(["Three herons.", "Four herons."])
        connection = await connect(":memory:")
        agents = RunningSpace(connection, config, {"anthropic": "sk-test"}, print)
        try:
            await agents.started()
            agent = await agents.service.start(str(tmp_path))
            assert isinstance(await agents.service.prompt(agent, "Count them."), Prompted)
            ends = 0
            async with asyncio.timeout(60):
                async for recorded in connection.log.follow(connection.space, agent, 0):
                    ends += recorded.kind == "turn.completed"
                    if ends == 2:
                        break
            read = await read_conversation(connection.log, connection.space, agent)
        finally:
            await agents.close()
            await connection.close()
        shown = [each.content for each in read.rows]
        authors = [each.author for each in shown if isinstance(each, PromptText)]
        assert authors == ["you", "hook end"]
        assert "hook tide" in [each.call.name for each in shown if isinstance(each, ToolUse)]
        first, second = (str(each.body) for each in server.requests)
        assert "The tide is out." in first
        assert "The hook end says: Count again." in second
        assert json.loads((tmp_path / "began.json").read_text())["source"] == "startup"
        stop = json.loads((tmp_path / "stops").read_text().splitlines()[0])
        assert stop["hook_event_name"] == "Stop"
        assert stop["session_id"] == agent


async def test_a_stop_hook_that_always_objects_ends_after_some_turns(tmp_path: Path) -> None:
    with ScriptedModel() as server:
        always = HookConfig("Stop", "echo 'Count again.' >&2; exit 2")
        config = Config(
            database=":memory:",
            model="claude-sonnet-5-5",
            base_urls={"anthropic": server.anthropic_url},
            hooks={"end": always},
        )
        connection = await connect(":memory:")
        agents = RunningSpace(connection, config, {"anthropic": "sk-test"}, print)
        try:
            await agents.started()
            agent = await agents.service.start(str(tmp_path))
            await agents.service.prompt(agent, "Count them.")
            ends, last = 0, ""
            async with asyncio.timeout(60):
                async for recorded in connection.log.follow(connection.space, agent, 0):
                    ends += recorded.kind == "turn.completed"
                    if isinstance(recorded.event, TurnStarted):
                        last = "".join(part.text for part in recorded.event.prompt)
                    if "This is the last of" in last and recorded.kind == "turn.completed":
                        break
        finally:
            await agents.close()
            await connection.close()
        assert last.endswith(f"This is the last of {ends - 1} turns that hooks may ask for.")
