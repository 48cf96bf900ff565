"""A hook UserPromptSubmit of the configuration sees each prompt of a person, and can block it."""

import json
from pathlib import Path

from sapwood.app.connection import connect
from sapwood.app.conversation_service import conversation_service
from sapwood.config.config_file import Config, HookConfig
from sapwood.conversation.answers import Prompted
from sapwood.core.refusals import HookBlocked

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
