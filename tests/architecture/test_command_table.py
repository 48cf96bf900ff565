"""One table describes a command: guards, help, completion, tools and pages all read it."""

import ast
import json
import re
from pathlib import Path

import pytest
from msgspec import structs

from sapwood.conversation.answers import Changed, HelpShown
from sapwood.conversation.call import Call
from sapwood.conversation.completion import KnownNames, choices
from sapwood.conversation.model_tool import slash_spec
from sapwood.conversation.script import CommandStep, parse
from sapwood.conversation.service import HANDLERS, require_bound
from sapwood.core.command_table import TABLE, Argument, CommandTable, SlashCommand
from sapwood.core.commands import AddPin, Clear, Command, Undo
from sapwood.core.events import HUMAN
from sapwood.core.ids import AgentId
from sapwood.core.refusals import HumanOnly, Refusal, TurnIsOpen, UnknownCommand
from tests.conversation.spaces import service_of
from tests.core.speaking import MODEL, conversation, opens
from tests.source_files import SAPWOOD, source_files
from tests.turns.commanding import AGENT, Desk
from tools.reference import commands_page

FAKE = SlashCommand(
    "graft",
    "Join another branch to this one",
    (Argument("MARK", ("mark",), required=True), Argument("N", ("number",), flag="--depth")),
    "both",
    aliases=("splice",),
)


async def graft(call: Call) -> Changed:
    return Changed(call.agent, f"Grafted {call.run.args}.")


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> SlashCommand:
    """A table with one more row, and its handler."""
    monkeypatch.setattr(TABLE, "rows", (*TABLE.rows, FAKE))
    monkeypatch.setitem(HANDLERS, FAKE.name, graft)
    return FAKE


def with_row(monkeypatch: pytest.MonkeyPatch, name: str, /, **changes: object) -> None:
    """Changes one row of the table."""
    rows = tuple(structs.replace(row, **changes) if row.name == name else row for row in TABLE.rows)
    monkeypatch.setattr(TABLE, "rows", rows)


def test_each_row_has_one_handler_and_each_handler_a_row() -> None:
    require_bound(TABLE, HANDLERS)
    with pytest.raises(AssertionError, match="graft"):
        require_bound(CommandTable((*TABLE.rows, FAKE), TABLE.untyped), HANDLERS)
    with pytest.raises(AssertionError, match="graft"):
        require_bound(TABLE, {**HANDLERS, "graft": graft})


def test_a_new_row_is_parsed(fake: SlashCommand) -> None:
    assert parse("/graft A") == (CommandStep(fake, "A"),)
    assert parse("/splice A") == (CommandStep(fake, "A"),)
    mistyped = parse("/graf A")
    assert isinstance(mistyped, UnknownCommand)
    assert "graft" in mistyped.close


async def test_a_new_row_is_answered_and_explained(fake: SlashCommand, desk: Desk) -> None:
    await desk.start()
    service = service_of(desk)
    grafted, listed, explained = await service.submit(AGENT, "/graft A\n/help\n/help splice")
    assert grafted.message == "Grafted A."
    assert isinstance(listed.answer, HelpShown)
    assert "graft" in {each.name for each in listed.answer.commands}
    assert "/graft MARK [--depth N]" in listed.message
    assert explained.message.endswith(fake.help)


def test_a_new_row_is_completed(fake: SlashCommand) -> None:
    assert [each.word for each in choices("/gra", KnownNames())] == ["/graft"]
    known = KnownNames(marks=(("START", ""),), agents=(("ada", ""),))
    assert [each.word for each in choices("/graft ", known)] == ["START"]


def test_a_new_row_is_offered_to_models(fake: SlashCommand) -> None:
    from sapwood.config.config_file import Config
    from sapwood.mcp_server.catalog import Catalog

    spec = slash_spec()
    assert "graft" in json.loads(spec.schema)["properties"]["command"]["enum"]
    assert f"graft MARK [--depth N]: {fake.help}" in spec.description
    offering = Catalog(Config(), Path())
    assert "graft" in {prompt.name for prompt in offering.prompts()}
    assert any(fake.help in tool.description for tool in offering.tools())


def test_a_new_row_is_in_the_reference_page(fake: SlashCommand) -> None:
    page = commands_page()
    assert f"| `/graft MARK [--depth N]`, `/splice` | {fake.help} | ● | ● | `Changed` |" in page


def decided(command: Command, *, open_turn: bool, by_model: bool = False) -> Refusal | None:
    world, agent = conversation(1)
    if open_turn:
        opens(world, agent)
    decision = world.do(structs.replace(command, agent=agent), MODEL if by_model else HUMAN)
    return decision if isinstance(decision, Refusal) else None


def test_the_guard_for_open_turns_reads_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    clear, pin = Clear(AgentId("any")), AddPin(AgentId("any"), "rule", "Be brief.")
    assert decided(clear, open_turn=True) == TurnIsOpen("/clear")
    assert decided(pin, open_turn=True) is None
    with_row(monkeypatch, "pin", during_turn=False)
    assert decided(pin, open_turn=True) == TurnIsOpen("/pin")
    assert decided(pin, open_turn=False) is None


def test_what_models_may_do_reads_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    undo = Undo(AgentId("any"))
    assert decided(undo, open_turn=True, by_model=True) == HumanOnly("/undo")
    with_row(monkeypatch, "undo", name="take-back")
    assert decided(undo, open_turn=True, by_model=True) == HumanOnly("/take-back")
    with_row(monkeypatch, "take-back", who="both")
    assert not isinstance(decided(undo, open_turn=True, by_model=True), HumanOnly)


async def test_the_service_checks_what_the_table_says(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, fake: SlashCommand
) -> None:
    await desk.start()
    await desk.prompt("Hello!")
    with_row(monkeypatch, "graft", during_turn=False)
    [refused] = await service_of(desk).submit(AGENT, "/graft A")
    assert refused.answer == TurnIsOpen("/graft")


LABEL = re.compile(r"/[a-z]")
NAMES_A_ROW = re.compile(r"\b(command|row)\.(name|typed)$")
MAY_NAME_A_ROW = re.compile(r"\b(command|row)\.(name|typed)\b")


@pytest.mark.parametrize("folder", ["core", "turns"])
def test_no_guard_names_a_command_by_hand(folder: str) -> None:
    """Refusals about who and when are given names from the table."""
    named: list[str] = []
    for path in sorted((SAPWOOD / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in (
                "TurnIsOpen",
                "HumanOnly",
                "require_no_turn",
            ):
                texts = [each.value for each in node.args if isinstance(each, ast.Constant)]
                named += [str(text) for text in texts if LABEL.match(str(text))]
    assert named == []


def test_nothing_is_decided_by_the_name_of_a_command() -> None:
    """What differs between commands is a field of their rows."""
    found: list[str] = []
    for path in source_files().values():
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text if MAY_NAME_A_ROW.search(text) else "")):
            if not isinstance(node, ast.Compare):
                continue
            sides = [node.left, *node.comparators]
            texts = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
            if texts & set(TABLE.names) and any(NAMES_A_ROW.search(ast.unparse(s)) for s in sides):
                found.append(f"{path.name}:{node.lineno}: {ast.unparse(node)}")
    assert found == []
