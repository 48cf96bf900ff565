"""From what was typed to the command of the core that a handler dispatches."""

import pytest

from sapwood.conversation.call import OpenSpace, Services
from sapwood.conversation.script import CommandStep, parse
from sapwood.conversation.service import ConversationService
from sapwood.core.command_table import TABLE
from sapwood.core.commands import (
    AddPin,
    Archive,
    Clear,
    Command,
    CommandMeta,
    Configure,
    Drop,
    Fork,
    KeepLast,
    Kill,
    ReadMail,
    Redo,
    RemovePin,
    Rename,
    Rewind,
    Send,
    SetMark,
    StartSuccessor,
    Unarchive,
    Undo,
)
from sapwood.core.ids import AgentId, EventRef, Space, TurnPlace
from sapwood.core.refusals import BadArguments, BadSetting, Refusal
from sapwood.core.settings import SettingsChange
from sapwood.testing.core_harness import CharacterCounter
from sapwood.turns.dispatch import Dispatcher, Done
from tests.conversation.spaces import TestSpace
from tests.store.memory_log import MemoryLog

AGENT, NEW, OTHER = AgentId("agent"), AgentId("new"), AgentId("other")
SPACE = Space("local")


class Recording(Dispatcher):
    """Remembers the command that it was given, and accepts it."""

    given: Command | None = None

    def __init__(self) -> None:
        super().__init__(MemoryLog(), SPACE, lambda model: CharacterCounter())

    async def dispatch(self, command: Command, meta: CommandMeta) -> Done | Refusal:
        self.given = command
        return Done("Done.", (EventRef(AGENT, 1), EventRef(NEW, 1)))


@pytest.fixture(autouse=True)
def _ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids that a test can name, agents that are found, and models that fit."""

    async def find(space: OpenSpace, typed: str, *, parent: AgentId | None = None) -> AgentId:
        return OTHER

    async def fitting(services: Services, agent: AgentId, change: SettingsChange) -> SettingsChange:
        return change

    monkeypatch.setattr("sapwood.conversation.handlers.agents.new_agent_id", lambda: NEW)
    monkeypatch.setattr("sapwood.conversation.handlers.agents.new_mail_id", lambda: "m1")
    monkeypatch.setattr("sapwood.conversation.handlers.agents.find", find)
    monkeypatch.setattr("sapwood.conversation.configured_models.with_fitting_model", fitting)


def typed(line: str) -> CommandStep:
    """The command on this line."""
    script = parse(line)
    assert isinstance(script, tuple)
    (step,) = script
    assert isinstance(step, CommandStep)
    return step


async def asks(line: str, goal: str = "") -> Command | Refusal | None:
    """What the line asks of the agent: a command of the core, if not only an answer."""
    dispatcher = Recording()
    space = TestSpace(MemoryLog(), SPACE, dispatcher)
    service = ConversationService(Services(space))
    answer = await service.answer(AGENT, typed(line), goal=goal)
    return answer if isinstance(answer, Refusal) else dispatcher.given


MEANT: dict[str, Command] = {
    "/mark": SetMark(AGENT),
    "/mark TASK": SetMark(AGENT, "TASK"),
    "/clear": Clear(AGENT),
    "/clear 3": KeepLast(AGENT, 3),
    "/clear 007": KeepLast(AGENT, 7),
    "/clear TASK": Rewind(AGENT, "TASK"),
    "/clear -3": Rewind(AGENT, "-3"),
    "/clear 3.5": Rewind(AGENT, "3.5"),
    "/drop 4": Drop(AGENT, (TurnPlace(4, 4),), place="4"),
    "/drop 4-9 11": Drop(AGENT, (TurnPlace(4, 9), TurnPlace(11, 11)), place="4-9 11"),
    "/drop #4.2": Drop(AGENT, (TurnPlace(4, 4, 2),), place="4.2"),
    "/drop --results 4-9": Drop(AGENT, (TurnPlace(4, 9),), True, "--results 4-9"),
    "/rewind": Rewind(AGENT),
    "/rewind TASK": Rewind(AGENT, "TASK"),
    "/rewind -3": Rewind(AGENT, "-3"),
    "/undo": Undo(AGENT),
    "/undo --anyway": Undo(AGENT),
    "/redo": Redo(AGENT),
    "/fork": Fork(AGENT, NEW),
    "/fork TASK": Fork(AGENT, NEW, "TASK"),
    "/fork -- Find the leak.": Fork(AGENT, NEW, goal="Find the leak.", name="Find the leak."),
    "/fork TASK --   Find -- it. ": Fork(AGENT, NEW, "TASK", "Find -- it.", name="Find -- it."),
    "/fork TASK --": Fork(AGENT, NEW, "TASK"),
    "/check-mail": ReadMail(AGENT),
    "/new": StartSuccessor(AGENT, NEW),
    "/archive": Archive(AGENT),
    "/unarchive": Unarchive(AGENT),
    "/rename Leak hunt, second try": Rename(AGENT, "Leak hunt, second try"),
    "/pin rule No force push.": AddPin(AGENT, "rule", "No force push."),
    "/pin rule\tNo  force  push.": AddPin(AGENT, "rule", "No  force  push."),
    "/unpin rule": RemovePin(AGENT, "rule"),
    "/unpin two words": RemovePin(AGENT, "two words"),
    "/model gpt-5": Configure(AGENT, SettingsChange(model="gpt-5")),
    "/system Be brief. Be kind.": Configure(AGENT, SettingsChange(system="Be brief. Be kind.")),
    "/permissions accept-edits": Configure(AGENT, SettingsChange(permission_mode="accept-edits")),
    "/config permission_mode all": Configure(AGENT, SettingsChange(permission_mode="all")),
    "/config cap 50000": Configure(AGENT, SettingsChange(cap=50_000)),
    "/config context.cap 50000": Configure(AGENT, SettingsChange(cap=50_000)),
    "/config cap 100k": Configure(AGENT, SettingsChange(cap=100_000)),
    "/config cap 1.5M": Configure(AGENT, SettingsChange(cap=1_500_000)),
    '/config system ""': Configure(AGENT, SettingsChange(system="")),
    '/system ""': Configure(AGENT, SettingsChange(system="")),
    "/config low_water 0.8": Configure(AGENT, SettingsChange(low_water=0.8)),
    "/config low_water 1": Configure(AGENT, SettingsChange(low_water=1.0)),
    "/config levels 0.4 0.6 0.8": Configure(AGENT, SettingsChange(levels=(0.4, 0.6, 0.8))),
    "/config system Be brief.": Configure(AGENT, SettingsChange(system="Be brief.")),
}


@pytest.mark.parametrize("line", MEANT)
async def test_a_line_asks_for(line: str) -> None:
    assert await asks(line) == MEANT[line]


async def test_commands_that_name_another_agent_get_it_found() -> None:
    assert await asks("/send scout  Look at this. ") == Send(OTHER, "m1", "Look at this.", AGENT)
    assert await asks("/send scout\tLook.") == Send(OTHER, "m1", "Look.", AGENT)
    assert await asks("/kill scout") == Kill(OTHER, by=AGENT)


async def test_text_before_a_fork_is_its_goal_and_was_delegated() -> None:
    assert await asks("/fork TASK", goal="Find it.") == Fork(
        AGENT, NEW, "TASK", "Find it.", delegated=True, name="Find it."
    )
    assert await asks("/fork -- Soon.", goal="Find it.") == Fork(
        AGENT, NEW, None, "Find it.\n\nSoon.", delegated=True, name="Find it. Soon."
    )


MISTAKES = {
    "/mark two words": "Give only one name.",
    "/clear 3 TASK": "Give one number or one mark.",
    "/clear 0": "N is a number of turns: 1 or more.",
    "/clear 000": "N is a number of turns: 1 or more.",
    "/drop": "Give turns by number: 4, 4-9, 4.2 for a tool result, --results 4-9.",
    "/drop --results 4.2": "Give turns by number: 4, 4-9, 4.2 for a tool result, --results 4-9.",
    "/rewind A B": "Give only one name.",
    "/fork A B": "Give only one mark; put a goal after --.",
    "/fork A --goal": "Give only one mark; put a goal after --.",
    "/send": "Mail needs a recipient and a message.",
    "/send scout": "Mail needs a recipient and a message.",
    "/kill": "Which agent?",
    "/pin": "A pin needs a name and some text.",
    "/pin rule": "A pin needs a name and some text.",
    "/unpin": "Which pin?",
    "/undo 3": "The only option here is --anyway.",
    "/redo now": "/redo takes no arguments.",
    "/new thing": "/new takes no arguments.",
    "/archive abc123": "/archive takes no arguments.",
    "/rename": "Which name?",
    "/agents all": "/agents takes no arguments.",
    "/check-mail now": "Mail is read all at once.",
    "/config cap": "Which value for cap?",
    "/permissions alll": "There is no permission mode 'alll'. Did you mean all? "
    "Modes: ask, accept-edits, plan, read-only, all.",
    "/permissions deny": "Which rule? For example: /permissions deny shell(git status)",
    "/config capp 3": "Unknown setting 'capp'. The settings are cap.",
}


@pytest.mark.parametrize("line", MISTAKES)
async def test_words_that_do_not_fit_are_refused_with_the_way_to_type_it(line: str) -> None:
    reason = await asks(line)
    assert isinstance(reason, BadArguments)
    assert reason.reason == MISTAKES[line]
    usage = f"Usage: {typed(line).command.line}.".replace("….", "…")
    assert reason.sentence == f"{MISTAKES[line]} {usage}"


async def test_to_kill_two_is_to_kill_none() -> None:
    assert isinstance(await asks("/kill a b"), BadArguments)


@pytest.mark.parametrize("line", ["/config cap lots", "/config cap 1.5", "/config levels 0.5"])
async def test_a_setting_that_is_no_number_is_refused(line: str) -> None:
    assert isinstance(await asks(line), BadSetting)


async def test_a_number_longer_than_any_history_is_a_number() -> None:
    command = await asks(f"/clear {'9' * 5_000}")
    assert isinstance(command, KeepLast)
    assert command.turns > 10**8


MEANT_FOR_OTHERS = ["/send scout Look.", "/kill scout"]
SHOWN = [
    "/check-mail --peek",
    "/wait",
    "/recall the leak",
    "/bring lead:2",
    "/agents",
    "/switch abc123",
    "/answer yes",
    "/context",
    "/replay",
    "/diff 1",
    "/model",
    "/system",
    "/config",
    "/help",
    "/help clear",
    "/exit",
    "/quit",
]
ELSEWHERE = [
    "/compact",
    "/compact --keep 3",
    "/revert",
    "/edit",
    "/retry",
    "/start",
    "/shell ls",
    "/jobs",
    "/accept-plan",
    "/todo",
    "/use fix",
    "/btw Why?",
    "/goal",
    "/init",
    "/review",
]
"""Carried out by services or with turns that this test leaves out."""


@pytest.mark.parametrize("line", SHOWN)
async def test_what_only_shows_something_changes_nothing(line: str) -> None:
    asked = await asks(line)
    assert asked is None or isinstance(asked, Refusal)


def test_every_command_is_meant_shown_or_both() -> None:
    lines = [*MEANT, *SHOWN, *MEANT_FOR_OTHERS, *ELSEWHERE]
    tried = {typed(line).command.name for line in lines}
    assert tried == {row.name for row in TABLE.rows}
