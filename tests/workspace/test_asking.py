"""A person is asked when the rules say so, and the answer counts."""

import asyncio
import os
from pathlib import Path

import pytest

from sapwood.core.ids import AgentId
from sapwood.workspace.errors import ToolError
from sapwood.workspace.permissions.acts import FileAct, PlainAct, ShellAct
from sapwood.workspace.permissions.asking import Always, Answer, Gate, No, Once, Question
from sapwood.workspace.permissions.rules import Rule, parse_rules
from tests.workspace.calling import Desk

ME = AgentId("abc123")


class Person:
    """Answers as told, and remembers what was asked."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.asked: list[Question] = []

    async def __call__(self, question: Question) -> Answer:
        self.asked.append(question)
        await asyncio.sleep(0)
        return self.answers.pop(0)


async def test_what_is_allowed_is_not_asked_for() -> None:
    person = Person()
    gate = Gate(parse_rules(["allow shell(git *)"]), person)
    await gate.require(ShellAct("shell", "git status"), ME, "wood")
    assert person.asked == []


async def test_once_is_once() -> None:
    person = Person(Once(), No())
    gate = Gate((), person)
    act = ShellAct("shell", "make test")
    await gate.require(act, ME, "wood")
    with pytest.raises(ToolError, match="The user said no"):
        await gate.require(act, ME, "wood")


async def test_always_is_from_now_on_in_this_workspace() -> None:
    person = Person(Always(), No("not here"))
    gate = Gate((), person)
    act = ShellAct("shell", "make test && git status")
    await gate.require(act, ME, "wood")
    await gate.require(act, ME, "wood")
    await gate.require(ShellAct("shell", "git status"), ME, "wood")
    assert [str(rule) for rule in person.asked[0].always] == [
        "allow shell(make test)",
        "allow shell(git status)",
    ]
    with pytest.raises(ToolError, match="The user said no: not here"):
        await gate.require(act, ME, "another wood")


async def test_always_may_be_wider_than_what_was_offered() -> None:
    person = Person(Always((Rule("allow", "shell", "git *"),)))
    gate = Gate(parse_rules(["deny shell(git push *)"]), person)
    await gate.require(ShellAct("shell", "git status"), ME, "wood")
    await gate.require(ShellAct("shell", "git diff"), ME, "wood")
    with pytest.raises(ToolError, match="deny shell"):
        await gate.require(ShellAct("shell", "git push"), ME, "wood")
    assert len(person.asked) == 1


async def test_questions_come_one_after_the_other_and_the_answer_may_settle_the_next() -> None:
    person = Person(Always())
    gate = Gate((), person)
    act = FileAct("write_file", "a.txt", reads=False, kin="write_file")
    await asyncio.gather(*(gate.require(act, ME, "wood") for _ in range(5)))
    assert len(person.asked) == 1


async def test_nobody_to_ask_is_no_with_the_rule_and_the_flag_that_would_help() -> None:
    gate = Gate()
    with pytest.raises(ToolError) as caught:
        await gate.require(ShellAct("shell", "make 'a b'"), ME, "wood")
    assert str(caught.value) == (
        "shell did not run. No rule speaks of it. Nobody is here to be asked. The user can allow "
        "it with the rule 'allow shell(make 'a b')', or by starting with "
        "--allow 'shell(make '\\''a b'\\'')'"
    )


async def test_a_line_that_cannot_be_told_is_asked_for_with_the_reason() -> None:
    person = Person(Once())
    await Gate((), person).require(ShellAct("shell", "echo $(ls)"), ME, "wood")
    assert person.asked[0].why == "What this command line runs cannot be told in advance."
    assert person.asked[0].always == (Rule("allow", "shell"),)


async def test_the_arguments_of_other_tools_are_shown() -> None:
    person = Person(Once())
    await Gate((), person).require(PlainAct("wood__saw"), ME, "wood", '{"length": 3}')
    assert person.asked[0].preview == '{"length": 3}'


async def test_a_change_is_shown_before_it_is_made(tmp_path: Path) -> None:
    person = Person(Once(), No("keep it"), Once())
    desk = Desk(tmp_path, [], person)
    file = desk.put("a.txt", "one\ntwo\n")
    await desk.done("edit_file", path="a.txt", old_text="two", new_text="three")
    assert "-two\n+three" in person.asked[0].preview
    told = await desk.refused("write_file", path="a.txt", content="gone")
    assert told == "write_file did not run. The user said no: keep it"
    assert file.read_text() == "one\nthree\n"
    await desk.done("shell", command="touch b.txt")
    assert person.asked[2].preview == "touch b.txt"


async def test_an_edit_that_cannot_be_done_is_not_asked_for(tmp_path: Path) -> None:
    person = Person()
    desk = Desk(tmp_path, [], person)
    desk.put("a.txt", "one")
    await desk.refused("edit_file", path="a.txt", old_text="two", new_text="three")
    assert person.asked == []


async def test_on_its_own_an_agent_can_look_and_not_touch(tmp_path: Path) -> None:
    desk = Desk(tmp_path, [])
    file = desk.put("a.txt", "one")
    for tool in ("list_files", "search_files", "read_file"):
        await desk.done(tool, path="a.txt", **({"pattern": "one"} if "search" in tool else {}))
    await desk.refused("write_file", path="a.txt", content="two")
    await desk.refused("edit_file", path="a.txt", old_text="one", new_text="two")
    told = await desk.refused("shell", command="echo two > a.txt")
    assert "--allow 'shell'" in told
    assert file.read_text() == "one"


async def test_a_question_ends_with_the_call(tmp_path: Path) -> None:
    asked = asyncio.Event()

    async def silent(question: Question) -> Answer:
        asked.set()
        await asyncio.Event().wait()
        return Once()

    desk = Desk(tmp_path, [], silent)
    task = asyncio.create_task(desk.call("shell", command="touch x"))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert os.listdir(tmp_path) == []
