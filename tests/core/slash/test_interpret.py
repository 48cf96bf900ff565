"""From what was typed to the command that is decided."""

import pytest

from sapwood.core.commands import (
    AddPin,
    Archive,
    Clear,
    Command,
    Configure,
    Fork,
    KeepLast,
    Kill,
    ReadMail,
    Redo,
    RemovePin,
    Rewind,
    Send,
    SetMark,
    Succeed,
    Undo,
)
from sapwood.core.ids import AgentId
from sapwood.core.refusals import BadArguments, BadSetting, Refusal
from sapwood.core.settings import SettingsChange
from sapwood.core.slash import COMMANDS, Fresh, Run, interpret, names_agent, parse

AGENT, NEW, OTHER = AgentId("agent"), AgentId("new"), AgentId("other")
FRESH = Fresh(NEW, "m1")


def typed(line: str) -> Run:
    """The command on this line."""
    script = parse(line)
    assert isinstance(script, tuple)
    (step,) = script
    assert isinstance(step, Run)
    return step


def asks(line: str, goal: str = "", other: AgentId | None = None) -> Command | Refusal | None:
    """What the line asks of the agent."""
    return interpret(typed(line), AGENT, FRESH, goal=goal, other=other)


MEANT: dict[str, Command] = {
    "/mark": SetMark(AGENT),
    "/mark TASK": SetMark(AGENT, "TASK"),
    "/clear": Clear(AGENT),
    "/clear 3": KeepLast(AGENT, 3),
    "/clear 007": KeepLast(AGENT, 7),
    "/clear TASK": Rewind(AGENT, "TASK"),
    "/clear -3": Rewind(AGENT, "-3"),
    "/clear 3.5": Rewind(AGENT, "3.5"),
    "/rewind": Rewind(AGENT),
    "/rewind TASK": Rewind(AGENT, "TASK"),
    "/rewind 3": Rewind(AGENT, "3"),
    "/undo": Undo(AGENT),
    "/redo": Redo(AGENT),
    "/fork": Fork(AGENT, NEW),
    "/fork TASK": Fork(AGENT, NEW, "TASK"),
    "/fork -- Find the leak.": Fork(AGENT, NEW, goal="Find the leak.", name="Find the leak."),
    "/fork TASK --   Find -- it. ": Fork(AGENT, NEW, "TASK", "Find -- it.", name="Find -- it."),
    "/fork TASK --": Fork(AGENT, NEW, "TASK"),
    "/check-mail": ReadMail(AGENT),
    "/new": Succeed(AGENT, NEW),
    "/archive": Archive(AGENT),
    "/pin rule No force push.": AddPin(AGENT, "rule", "No force push."),
    "/pin rule\tNo  force  push.": AddPin(AGENT, "rule", "No  force  push."),
    "/unpin rule": RemovePin(AGENT, "rule"),
    "/unpin two words": RemovePin(AGENT, "two words"),
    "/model gpt-5": Configure(AGENT, SettingsChange(model="gpt-5")),
    "/system Be brief. Be kind.": Configure(AGENT, SettingsChange(system="Be brief. Be kind.")),
    "/config cap 50000": Configure(AGENT, SettingsChange(cap=50_000)),
    "/config low_water 0.8": Configure(AGENT, SettingsChange(low_water=0.8)),
    "/config low_water 1": Configure(AGENT, SettingsChange(low_water=1.0)),
    "/config levels 0.4 0.6 0.8": Configure(AGENT, SettingsChange(levels=(0.4, 0.6, 0.8))),
    "/config system Be brief.": Configure(AGENT, SettingsChange(system="Be brief.")),
}


@pytest.mark.parametrize("line", MEANT)
def test_a_line_asks_for(line: str) -> None:
    assert asks(line) == MEANT[line]


def test_commands_that_name_another_agent_get_it_found() -> None:
    assert names_agent(typed("/send scout Look.")) == "scout"
    assert names_agent(typed("/kill scout")) == "scout"
    assert names_agent(typed("/kill")) is None
    assert names_agent(typed("/mark scout")) is None
    assert asks("/send scout  Look at this. ", other=OTHER) == Send(
        OTHER, "m1", "Look at this.", AGENT
    )
    assert asks("/send scout\tLook.", other=OTHER) == Send(OTHER, "m1", "Look.", AGENT)
    assert asks("/kill scout", other=OTHER) == Kill(OTHER, by=AGENT)


def test_text_before_a_fork_is_its_goal_and_was_delegated() -> None:
    assert asks("/fork TASK", goal="Find it.") == Fork(
        AGENT, NEW, "TASK", "Find it.", delegated=True, name="Find it."
    )
    assert asks("/fork -- Soon.", goal="Find it.") == Fork(
        AGENT, NEW, None, "Find it.\n\nSoon.", delegated=True, name="Find it. Soon."
    )


MISTAKES = {
    "/mark two words": "One name at most, please.",
    "/clear 3 TASK": "One number or one mark, please.",
    "/clear 0": "N counts turns, from 1.",
    "/clear 000": "N counts turns, from 1.",
    "/rewind A B": "One name at most, please.",
    "/fork A B": "One mark, please; a goal comes after --.",
    "/fork A --goal": "One mark, please; a goal comes after --.",
    "/send": "Mail needs a receiver and a message.",
    "/send scout": "Mail needs a receiver and a message.",
    "/kill": "Which agent?",
    "/pin": "A pin has name and text.",
    "/pin rule": "A pin has name and text.",
    "/unpin": "Which pin?",
    "/undo 3": "/undo stands alone.",
    "/redo now": "/redo stands alone.",
    "/new thing": "/new stands alone.",
    "/archive abc123": "/archive stands alone.",
    "/agents all": "/agents stands alone.",
    "/check-mail now": "Mail is read all at once.",
    "/config cap": "Which value for cap?",
    "/config capp 3": "There is no setting 'capp'; there is cap.",
}


@pytest.mark.parametrize("line", MISTAKES)
def test_words_that_do_not_fit_are_refused_with_the_way_to_type_it(line: str) -> None:
    reason = asks(line)
    assert isinstance(reason, BadArguments)
    assert reason.reason == MISTAKES[line]
    assert reason.sentence == f"{MISTAKES[line]} Type it as {typed(line).command.line}."


def test_to_kill_two_is_to_kill_none() -> None:
    assert isinstance(asks("/kill a b", other=OTHER), BadArguments)


@pytest.mark.parametrize("line", ["/config cap lots", "/config cap 1.5", "/config levels 0.5"])
def test_a_setting_that_is_no_number_is_refused(line: str) -> None:
    assert isinstance(asks(line), BadSetting)


def test_a_number_longer_than_any_history_is_a_number() -> None:
    command = asks(f"/clear {'9' * 5_000}")
    assert isinstance(command, KeepLast)
    assert command.turns > 10**8


SHOWN = [
    "/check-mail --peek",
    "/wait",
    "/wait abc123 30",
    "/compact",
    "/compact --keep 3",
    "/recall the leak",
    "/agents",
    "/switch abc123",
    "/context",
    "/replay",
    "/diff A B",
    "/revert",
    "/model",
    "/system",
    "/config",
    "/help",
    "/help clear",
    "/exit",
    "/quit",
]


@pytest.mark.parametrize("line", SHOWN)
def test_what_only_shows_or_needs_more_than_the_core_goes_on_elsewhere(line: str) -> None:
    assert asks(line) is None


def test_every_command_is_meant_shown_or_both() -> None:
    lines = [*MEANT, *SHOWN, "/send scout Look.", "/kill scout"]
    tried = {typed(line).command.name for line in lines}
    assert tried == {command.name for command in COMMANDS}
