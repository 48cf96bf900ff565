"""`/permissions`: the mode of an agent, and the rules of its project with their sources."""

from pathlib import Path

import pytest

from sapwood.app.connection import connect
from sapwood.app.conversation_service import offline_service
from sapwood.config.config_file import Config
from sapwood.conversation.answers import Changed, PermissionsShown
from sapwood.conversation.service import Outcome
from sapwood.core.refusals import Refusal
from sapwood.workspace.permissions.kept_rules import project_rules, project_rules_file


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAPWOOD_CONFIG", str(tmp_path / "home" / "config.toml"))


async def said(folder: Path, *lines: str) -> list[Outcome]:
    connection = await connect(":memory:")
    service = offline_service(connection, Config(permissions=("deny shell(git push *)",)))
    try:
        agent = await service.start(str(folder))
        return await service.submit(agent, "\n".join(lines))
    finally:
        await connection.close()


async def test_rules_are_kept_outside_the_project_and_listed_with_their_source(
    tmp_path: Path,
) -> None:
    (tmp_path / "wood").mkdir()
    *_, shown = await said(
        tmp_path / "wood",
        "/permissions accept-edits",
        "/permissions allow shell(make test)",
        "/permissions deny read_file(.env)",
        "/permissions",
    )
    assert isinstance(shown.answer, PermissionsShown)
    assert shown.answer.mode == "accept-edits"
    assert [(each.rule, each.source) for each in shown.answer.rules] == [
        ("deny read_file(.env)", "this project"),
        ("deny shell(git push *)", "configuration"),
        ("allow shell(make test)", "this project"),
    ]
    assert list((tmp_path / "wood").iterdir()) == []
    file = project_rules_file()
    assert file == tmp_path / "home" / "permissions.toml"
    assert file.stat().st_mode & 0o777 == 0o600


async def test_a_rule_can_be_removed_by_its_name(tmp_path: Path) -> None:
    outcomes = await said(
        tmp_path,
        "/permissions allow shell(make test)",
        "/permissions allow write_file(a)",
        "/permissions remove shell(make test)",
    )
    assert all(isinstance(each.answer, Changed) for each in outcomes)
    assert project_rules(str(tmp_path)) == ("allow write_file(a)",)
    (missing,) = await said(tmp_path, "/permissions remove write_file(b)")
    assert isinstance(missing.answer, Refusal)
    assert "This project has no rule 'write_file(b)'" in missing.answer.sentence


async def test_a_misspelt_rule_is_not_kept(tmp_path: Path) -> None:
    (refused,) = await said(tmp_path, "/permissions allow shel(ls)")
    assert isinstance(refused.answer, Refusal)
    assert "Did you mean shell?" in refused.answer.sentence
    assert project_rules(str(tmp_path)) == ()
