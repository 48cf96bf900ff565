"""When a command in the sandbox needs a question, and what the question says."""

import json
import os
import socket
import stat
from pathlib import Path

import pytest
from msgspec import structs

from sapwood.core.content import ToolCall
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import ToolOutcome, ToolUse
from sapwood.core.settings import PermissionMode, Workspace
from sapwood.workspace import nested_repositories, workspace_toolbox
from sapwood.workspace.permissions.permission_gate import (
    AllowOnce,
    Deny,
    PermissionAnswer,
    PermissionGate,
    PermissionQuestion,
)
from sapwood.workspace.permissions.permission_rules import parse_rules
from sapwood.workspace.sandbox import Sandbox, sandbox_problem
from sapwood.workspace.workspace_toolbox import WorkspaceToolbox
from tests.workspace.checkpoints.repositories import repository

pytestmark = pytest.mark.skipif(bool(sandbox_problem()), reason=sandbox_problem() or "-")


class Person:
    """A person who is asked, in a project with a sandbox."""

    def __init__(self, folder: Path, answer: PermissionAnswer) -> None:
        self.home = folder
        self.project = repository(folder / "project")
        self.answer = answer
        self.questions: list[PermissionQuestion] = []
        self.sandbox = Sandbox(home=str(folder), state=str(folder / "state"))

    async def _approve(self, question: PermissionQuestion) -> PermissionAnswer:
        self.questions.append(question)
        return self.answer

    async def run(
        self,
        command: str,
        *needs: str,
        rules: tuple[str, ...] = (),
        mode: PermissionMode = "ask",
        is_saved: bool = True,
        asks: bool = False,
    ) -> ToolOutcome:
        """The result of a command of the model."""
        box = WorkspaceToolbox(
            PermissionGate(parse_rules(rules), self._approve),
            environment={**os.environ, "HOME": str(self.home)},
            sandbox=self.sandbox,
            asks_in_sandbox=asks,
        )
        arguments = json.dumps({"command": command, "needs": needs})
        call = ToolCall("1", "shell", arguments)
        workspace = Workspace(folder=str(self.project))
        return await box.run(ToolUse(AgentId("abc123"), workspace, call, mode, is_saved))

    @property
    def reasons(self) -> list[str]:
        """What the questions said."""
        return [question.why for question in self.questions]


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path, Deny("no"))


async def test_a_command_that_stays_inside_needs_no_question(person: Person) -> None:
    for command in ("echo 1 > a", "echo $(cat a) | tee b", "cd .. && ls"):
        assert not (await person.run(command)).error
    assert person.questions == []
    assert (person.project / "b").read_text() == "1\n"


async def test_where_there_are_too_many_folders_it_asks_unless_a_rule_allows_it(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(10):
        (person.project / str(number)).mkdir()
    monkeypatch.setattr(nested_repositories, "MAX_FOLDERS", 5)
    assert (await person.run("touch a")).error
    assert "more than 200,000 folders" in person.reasons[0]
    assert not (await person.run("touch a", rules=("allow shell(touch *)",))).error
    assert not (await person.run("touch b", mode="all")).error
    assert len(person.questions) == 1


async def test_without_a_checkpoint_a_sandbox_or_by_the_setting_it_asks(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await person.run("touch a", is_saved=False)).error
    assert (await person.run("touch a", asks=True)).error
    person.sandbox = structs.replace(person.sandbox, network=True)
    assert (await person.run("touch a")).error
    monkeypatch.setattr(workspace_toolbox, "sandbox_problem", lambda: "there is none")
    assert (await person.run("touch a")).error
    assert len(person.questions) == 4
    assert not (person.project / "a").exists()


async def test_rules_that_deny_or_ask_win_over_the_sandbox(person: Person) -> None:
    for rule in ("deny shell(touch *)", "ask shell(touch *)"):
        assert (await person.run("touch a", rules=(rule,))).error
    assert (await person.run("$X a", rules=("deny shell(touch *)",))).error
    assert (await person.run("touch a", mode="read-only")).error
    assert person.reasons == [
        "The rule 'ask shell(touch *)' applies.",
        "Sapwood cannot tell in advance what this command line runs, and 'deny shell(touch *)' "
        "may apply to it.",
    ]


async def test_the_question_says_what_more_a_command_needs(person: Person) -> None:
    for need in ("network", "protected", "outside"):
        assert (await person.run("touch a", need)).error
    assert [reason.split(",")[0] for reason in person.reasons] == [
        "It needs the network.",
        "It needs to write protected files",
        "It needs to run outside the sandbox",
    ]
    assert all(len(reason) <= 200 for reason in person.reasons)  # more is not shown on the screen


async def test_a_rule_opens_the_network_and_nothing_else(person: Person) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        connect = f"echo > /dev/tcp/127.0.0.1/{server.getsockname()[1]}"
        assert not (await person.run(connect, "network", rules=("allow shell",))).error
    for need in ("protected", "outside"):
        assert (await person.run("touch a", need, rules=("allow shell",))).error
        assert (await person.run("touch a", need, mode="all")).error
        assert [offer.kind for offer in person.questions[-1].offers] == ["once"]
    assert len(person.questions) == 4


async def test_an_approved_command_gets_what_it_asked_for(person: Person) -> None:
    person.answer = AllowOnce()
    assert not (await person.run("git config a.b c", "protected")).error
    assert "b = c" in (person.project / ".git" / "config").read_text()
    assert not (await person.run(f"touch {person.home}/x", "outside")).error
    assert (person.home / "x").exists()


async def test_a_failure_tells_the_model_how_to_ask_for_more(person: Person) -> None:
    outcome = await person.run("echo > /dev/tcp/127.0.0.1/9")
    assert 'needs: ["network"]' in outcome.content
    outcome = await person.run("git config a.b c")
    assert 'needs: ["protected"]' in outcome.content
    outcome = await person.run("touch /usr/x")
    assert '"outside"' in outcome.content
    assert "needs:" not in (await person.run("exit 3")).content
    assert "needs:" not in (await person.run("echo Read-only file system")).content


async def test_a_person_decides_about_a_changed_git_folder(person: Person) -> None:
    assert not (await person.run("true")).error
    (person.project / ".git").rename(person.home / "moved")
    assert (await person.run("true", rules=("allow shell",))).error
    assert person.reasons == [
        ".git of this workspace was a folder at its first command and is missing now."
    ]
    person.answer = AllowOnce()
    assert not (await person.run("true")).error
    assert not (await person.run("true")).error
    assert len(person.questions) == 2
    (person.project / ".git").symlink_to(person.home / "moved")
    outcome = await person.run("true")
    assert "is a link, and the sandbox does not follow links" in outcome.content
    assert len(person.questions) == 2


async def test_what_was_decided_is_kept_where_only_the_user_can_read_it(person: Person) -> None:
    await person.run("true")
    files = list((person.home / "state").iterdir())
    assert [stat.S_IMODE(file.stat().st_mode) & 0o077 for file in files] == [0] * len(files)
    assert any(file.suffix == ".json" for file in files)
