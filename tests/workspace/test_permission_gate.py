"""A person is asked when the rules require it, and the answer is remembered."""

import asyncio
import os
from pathlib import Path

import pytest

from sapwood.core.ids import AgentId
from sapwood.workspace.permissions.permission_decision import FileAction, OtherAction, ShellAction
from sapwood.workspace.permissions.permission_gate import (
    AllowAlways,
    AllowOnce,
    Deny,
    PermissionAnswer,
    PermissionGate,
    PermissionQuestion,
)
from sapwood.workspace.permissions.permission_rules import PermissionRule, parse_rules
from sapwood.workspace.tool_output import ToolBlocked, ToolError
from tests.workspace.tool_calls import ToolWorkspace

ME = AgentId("abc123")


class Person:
    """Answers as told, and remembers what was asked."""

    def __init__(self, *answers: PermissionAnswer) -> None:
        self.answers = list(answers)
        self.asked: list[PermissionQuestion] = []

    async def __call__(self, question: PermissionQuestion) -> PermissionAnswer:
        self.asked.append(question)
        await asyncio.sleep(0)
        return self.answers.pop(0)


async def test_what_is_allowed_is_not_asked_for() -> None:
    person = Person()
    gate = PermissionGate(parse_rules(["allow shell(git *)"]), person)
    await gate.require(ShellAction("shell", "git status"), ME, "wood")
    assert person.asked == []


async def test_once_is_once() -> None:
    person = Person(AllowOnce(), Deny())
    gate = PermissionGate((), person)
    act = ShellAction("shell", "make test")
    await gate.require(act, ME, "wood")
    with pytest.raises(ToolError, match="The user said no"):
        await gate.require(act, ME, "wood")


async def test_always_is_from_now_on_in_this_workspace() -> None:
    person = Person(AllowAlways(), Deny("not here"))
    gate = PermissionGate((), person)
    act = ShellAction("shell", "make test && git status")
    await gate.require(act, ME, "wood")
    await gate.require(act, ME, "wood")
    await gate.require(ShellAction("shell", "git status"), ME, "wood")
    assert [str(rule) for rule in person.asked[0].always] == [
        "allow shell(make test)",
        "allow shell(git status)",
    ]
    with pytest.raises(ToolError, match="The user said no: not here"):
        await gate.require(act, ME, "another wood")


async def test_always_may_be_wider_than_what_was_offered() -> None:
    person = Person(AllowAlways((PermissionRule("allow", "shell", "git *"),)))
    gate = PermissionGate(parse_rules(["deny shell(git push *)"]), person)
    await gate.require(ShellAction("shell", "git status"), ME, "wood")
    await gate.require(ShellAction("shell", "git diff"), ME, "wood")
    with pytest.raises(ToolError, match="deny shell"):
        await gate.require(ShellAction("shell", "git push"), ME, "wood")
    assert len(person.asked) == 1


async def test_questions_come_one_after_the_other_and_the_answer_may_settle_the_next() -> None:
    person = Person(AllowAlways())
    gate = PermissionGate((), person)
    act = FileAction("write_file", "a.txt", reads=False, related_tool="write_file")
    await asyncio.gather(*(gate.require(act, ME, "wood") for _ in range(5)))
    assert len(person.asked) == 1


async def test_nobody_to_ask_is_no_with_the_rule_and_the_flag_that_would_help() -> None:
    gate = PermissionGate()
    with pytest.raises(ToolError) as caught:
        await gate.require(ShellAction("shell", "make 'a b'"), ME, "wood")
    assert str(caught.value) == (
        "shell was blocked: it needs approval and nobody can approve it here. The user can "
        "allow it with --allow 'shell(make '\\''a b'\\'')'."
    )
    assert isinstance(caught.value, ToolBlocked)
    assert caught.value.remedy == (
        "shell was blocked: it needs approval and nobody can approve it here. Allow it with "
        "--allow 'shell(make '\\''a b'\\'')'."
    )


async def test_a_line_that_cannot_be_told_is_asked_for_with_the_reason() -> None:
    person = Person(AllowOnce())
    await PermissionGate((), person).require(ShellAction("shell", "echo $1"), ME, "wood")
    assert person.asked[0].why == "Sapwood cannot tell in advance what this command line runs."
    assert person.asked[0].always == (PermissionRule("allow", "shell", "echo $1"),)
    assert [offer.kind for offer in person.asked[0].offers] == ["once", "exact"]


async def test_each_answer_says_what_it_grants() -> None:
    person = Person(AllowOnce())
    act = ShellAction("shell", "wc -l a.py", "docs")
    await PermissionGate((), person).require(act, ME, "/wood")
    question = person.asked[0]
    assert question.folder == "docs"
    assert [(offer.kind, list(map(str, offer.rules))) for offer in question.offers] == [
        ("once", []),
        ("exact", ["allow shell(wc -l a.py) in docs"]),
        ("prefix", ["allow shell(wc *) in docs"]),
    ]
    assert question.offers[1].grants == (
        "Exactly this command, in the folder docs. From now on in /wood."
    )
    assert question.offers[2].grants == (
        "Every command that starts with 'wc', with any arguments, in the folder docs. "
        "From now on in /wood."
    )
    assert question.offers[0].answer == AllowOnce()
    assert question.offers[2].answer == AllowAlways(question.offers[2].rules)


@pytest.mark.parametrize(
    ("line", "rules"),
    [
        ("git add a.py && make test", ["allow shell(git add a.py)", "allow shell(make test)"]),
        ("make a | make b; make c; make d", ["allow shell(make a | make b; make c; make d)"]),
        (
            "for i in a b; do make x; make y; make z; make w; done",
            ["allow shell(for i in a b; do make x; make y; make z; make w; done)"],
        ),
    ],
)
async def test_a_line_of_many_commands_gets_one_rule_for_the_line(
    line: str, rules: list[str]
) -> None:
    person = Person(AllowAlways())
    gate = PermissionGate((), person)
    await gate.require(ShellAction("shell", line), ME, "/wood")
    assert list(map(str, person.asked[0].always)) == rules
    await gate.require(ShellAction("shell", line), ME, "/wood")
    assert len(person.asked) == 1
    is_whole = rules[0] == f"allow shell({line})"
    assert ("Exactly this line, but not its" in person.asked[0].offers[1].grants) == is_whole
    assert gate.decision(ShellAction("shell", "make w"), "/wood").verdict == "ask"


async def test_an_approval_holds_for_its_folder_only() -> None:
    person = Person(AllowAlways(), Deny())
    gate = PermissionGate((), person)
    await gate.require(ShellAction("shell", "make test"), ME, "wood")
    await gate.require(ShellAction("shell", "make test"), ME, "wood")
    with pytest.raises(ToolError, match="The user said no"):
        await gate.require(ShellAction("shell", "make test", "node_modules/evil"), ME, "wood")


async def test_the_arguments_of_other_tools_are_shown() -> None:
    person = Person(AllowOnce())
    await PermissionGate((), person).require(OtherAction("wood__saw"), ME, "wood", '{"length": 3}')
    assert person.asked[0].preview == '{"length": 3}'


async def test_a_change_is_shown_before_it_is_made(tmp_path: Path) -> None:
    person = Person(AllowOnce(), Deny("keep it"), AllowOnce())
    workspace = ToolWorkspace(tmp_path, [], person)
    file = workspace.put("a.txt", "one\ntwo\n")
    await workspace.done("edit_file", path="a.txt", old_text="two", new_text="three")
    assert "-two\n+three" in person.asked[0].preview
    told = await workspace.refused("write_file", path="a.txt", content="gone")
    assert told == "write_file did not run. The user said no: keep it"
    assert file.read_text() == "one\nthree\n"
    await workspace.done("shell", command="touch b.txt")
    assert person.asked[2].preview == "touch b.txt"


async def test_an_edit_that_cannot_be_done_is_not_asked_for(tmp_path: Path) -> None:
    person = Person()
    workspace = ToolWorkspace(tmp_path, [], person)
    workspace.put("a.txt", "one")
    await workspace.refused("edit_file", path="a.txt", old_text="two", new_text="three")
    assert person.asked == []


async def test_on_its_own_an_agent_can_look_and_not_touch(tmp_path: Path) -> None:
    workspace = ToolWorkspace(tmp_path, [])
    file = workspace.put("a.txt", "one")
    for tool in ("list_files", "search_files", "read_file"):
        await workspace.done(tool, path="a.txt", **({"pattern": "one"} if "search" in tool else {}))
    await workspace.refused("write_file", path="a.txt", content="two")
    await workspace.refused("edit_file", path="a.txt", old_text="one", new_text="two")
    told = await workspace.refused("shell", command="echo two > a.txt")
    assert "--allow 'shell(echo two > a.txt)'" in told
    assert file.read_text() == "one"


async def test_a_question_ends_with_the_call(tmp_path: Path) -> None:
    asked = asyncio.Event()

    async def silent(question: PermissionQuestion) -> PermissionAnswer:
        asked.set()
        await asyncio.Event().wait()
        return AllowOnce()

    workspace = ToolWorkspace(tmp_path, [], silent)
    task = asyncio.create_task(workspace.call("shell", command="touch x"))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert os.listdir(tmp_path) == []


async def test_the_whole_change_is_shown_with_every_character(tmp_path: Path) -> None:
    person = Person(AllowOnce(), AllowOnce(), AllowOnce(), AllowOnce())
    workspace = ToolWorkspace(tmp_path, [], person)
    content = "".join(f"line {number}\n" for number in range(5_000))
    await workspace.done("write_file", path="long.txt", content=content)
    assert person.asked[0].preview.endswith("+line 4999")
    await workspace.done("write_file", path="big.txt", content="x" * 500_000)
    assert "+" + "x" * 500_000 in person.asked[1].preview
    workspace.put("a.txt", "one\r\ntwo")
    await workspace.done("write_file", path="a.txt", content="one\x0b\u2028\ntwo\n")
    shown = person.asked[2].preview.split("\n")
    assert "-one\r" in shown
    assert "+one\x0b\u2028" in shown
    assert "\\ No newline at end of file" in shown
    (tmp_path / "picture").write_bytes(b"\x00\x01")
    await workspace.done("write_file", path="picture", content="text")
    assert person.asked[3].preview.startswith("picture is not text.")


async def test_the_folder_of_a_command_is_part_of_the_question(tmp_path: Path) -> None:
    person = Person(AllowOnce(), AllowOnce())
    workspace = ToolWorkspace(tmp_path, [], person)
    (tmp_path / "vendor").mkdir()
    await workspace.done("shell", command="true", cwd="vendor")
    await workspace.done("shell", command="true")
    assert [asked.folder for asked in person.asked] == ["vendor", ""]


TOKEN = "gh" + "p_" + "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"


async def test_a_question_shows_secrets_masked_and_says_so() -> None:
    person = Person(AllowOnce())
    command = f"curl -H 'X-Token: {TOKEN}' https://wood.internal"
    await PermissionGate((), person).require(ShellAction("shell", command), ME, "wood")
    [question] = person.asked
    assert TOKEN not in repr(question)
    assert question.preview == f"curl -H 'X-Token: [secret: github-token …{TOKEN[-4:]}]' " + (
        "https://wood.internal"
    )
    assert "the tool gets the exact text" in question.why
    assert [offer.kind for offer in question.offers] == ["once"]
    assert question.always == ()


async def test_a_known_key_is_masked_in_a_question() -> None:
    person = Person(AllowOnce())
    gate = PermissionGate((), person, secrets=("woodwoodwood",))
    await gate.require(ShellAction("shell", "echo woodwoodwood"), ME, "wood")
    assert person.asked[0].preview == "echo [secret: known-key]"


@pytest.mark.parametrize("tail", [";rm${IFS}-rf${IFS}.", "|sh", "$(id)", "&x"])
async def test_a_mask_hides_nothing_that_a_shell_acts_on(tail: str) -> None:
    person = Person()
    command = f"DB_PASSWORD=hunter2024{tail} make"
    with pytest.raises(ToolError, match="special shell characters"):
        await PermissionGate((), person).require(ShellAction("shell", command), ME, "wood")
    assert person.asked == []


async def test_lines_of_a_file_are_masked_only_if_they_are_a_secret() -> None:
    person = Person(AllowOnce())
    act = FileAction("write_file", "Makefile", False, "write_file", "")
    hidden = f"-----BEGIN PRIVATE {'KEY'}-----\nall:; rm -rf ~\n-----END PRIVATE {'KEY'}-----"
    preview = f"+TOKEN={TOKEN}\n{hidden}"
    await PermissionGate((), person).require(act, ME, "wood", preview)
    assert TOKEN not in person.asked[0].preview
    assert "rm -rf ~" in person.asked[0].preview
