"""`/permissions` completes modes, tools of new rules, and rules that can be removed."""

from pathlib import Path

import pytest

from sapwood.app.connection import connect
from sapwood.app.conversation_service import offline_service
from sapwood.config.config_file import Config
from sapwood.conversation.completion import KnownNames, choices, is_complete, known_names


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/permissions ac", ["accept-edits"]),
        ("/permissions re", ["read-only", "remove"]),
        ("/permissions allow sh", ["shell("]),
        ("/permissions deny wr", ["write_file("]),
        ("/permissions remove ma", ["allow shell(make test)"]),
        ("/permissions remove ", ["allow shell(make test)", "deny read_file(.env)"]),
        ("/permissions read-only x", []),
    ],
)
async def test_modes_and_rules_are_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, words: list[str]
) -> None:
    monkeypatch.setenv("SAPWOOD_CONFIG", str(tmp_path / "home" / "config.toml"))
    connection = await connect(":memory:")
    try:
        service = offline_service(connection, Config())
        agent = await service.start(str(tmp_path))
        rules = "/permissions allow shell(make test)\n/permissions deny read_file(.env)"
        await service.submit(agent, rules)
        state = (await connection.dispatcher.open(agent)).state
        known = await known_names(connection, state)
    finally:
        await connection.close()
    assert [choice.word for choice in choices(line, known)] == words


@pytest.mark.parametrize(
    ("line", "complete"),
    [
        ("/permissions all", True),
        ("/permissions acc", False),
        ("/permissions allow shell(ma", True),  # enter sends the rule as it was typed
    ],
)
def test_what_is_valid_is_not_replaced(line: str, complete: bool) -> None:
    assert is_complete(line, KnownNames()) is complete
