"""`/fork`: a child sees what its parent saw, or what came after a mark, and never changes."""

import pytest

from sapwood.core.commands import (
    AddPin,
    AddReply,
    Archive,
    Clear,
    Command,
    Compact,
    CompleteTurn,
    Configure,
    FinishTool,
    Fork,
    KeepLast,
    Kill,
    MaskResults,
    ReadMail,
    RemovePin,
    Rewind,
    Send,
    SetMark,
    StartAgent,
    StartTurn,
    Undo,
)
from sapwood.core.content import Note, Text, ToolCall
from sapwood.core.events import AgentForked, AgentStarted, ParentNote, Pin
from sapwood.core.ids import AgentId
from sapwood.core.refusals import AgentExists, NoGoal, NotRunning, UnknownAgent, UnknownMark
from sapwood.core.settings import Settings, SettingsChange, Workspace
from sapwood.testing import CoreHarness
from tests.core.speaking import (
    CHILD_NOTE,
    MODEL,
    by_model,
    conversation,
    does,
    kinds,
    last_event,
    opens,
    refusal,
    results,
    said,
    uses_tool,
)

AGENT, CHILD = AgentId("agent1"), AgentId("child")


def test_a_fork_prints_its_child() -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, "TASK"))
    says = does(world, Fork(agent, AgentId("abc123"), goal="Look.", name="Look."))
    assert says == "Forked. Child: Look. (abc123)"
    says = does(world, Fork(agent, AgentId("def456"), "TASK", goal="Look."))
    assert says == "Forked. Child: def456 from TASK"


def test_a_fork_without_a_goal_says_that_the_child_is_idle() -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, "TASK"))
    world.turn(agent, "goal", "answer")
    assert does(world, Fork(agent, CHILD, "TASK")) == (
        f"Forked. Child: {CHILD} from TASK. To give it work, type: /switch {CHILD}, or "
        f"sapwood run --agent {CHILD} -p GOAL"
    )
    assert said(world, CHILD) == ["goal", "answer"]
    assert world.states[CHILD].open is None


def test_a_fork_that_continues_is_no_helper_and_may_have_other_settings() -> None:
    world, agent = conversation(1)
    change = SettingsChange(model="codex")
    does(world, Fork(agent, CHILD, change=change, continues=True))
    assert world.states[CHILD].settings.model == "codex"
    world.turn(CHILD, "go on", "yes")
    assert "child agent" not in str(world.request(CHILD))
    does(world, Fork(agent, AgentId("helper"), goal="Look."))
    assert world.states[AgentId("helper")].settings.model == "scripted"


def told(world: CoreHarness, agent: AgentId) -> list[str]:
    """What the agent is told about itself in its last prompt."""
    parts = world.request(agent).messages[-1].parts
    return [p.text for p in parts if isinstance(p, Text) and p.text.startswith(CHILD_NOTE)]


def test_a_child_is_told_that_it_is_one() -> None:
    world = CoreHarness()
    agent = world.start("lead")
    world.turn(agent, "ask 1", "answer 1")
    does(world, Fork(agent, CHILD, goal="Find the leak."))
    assert told(world, CHILD) == [
        "[You are a child agent. Your parent is the agent 'lead']\n"
        "The goal below is yours and outranks what you inherited. Your final answer is mailed to "
        "the parent."
    ]


def test_a_child_without_a_goal_is_told_with_its_first_prompt() -> None:
    world, agent = conversation(1)
    does(world, Fork(agent, CHILD))
    opens(world, CHILD, "Find the leak.")
    (words,) = told(world, CHILD)
    assert "The request below is your goal and" in words


def test_a_child_that_shares_the_open_request_is_told() -> None:
    world, agent = conversation(1)
    opens(world, agent, "Find the leak.")
    by_model(world, Fork(agent, CHILD))
    (words,) = told(world, CHILD)
    assert "No goal was given, so the request above is yours too and" in words


def test_a_full_fork_sees_the_same_request() -> None:
    world, agent = conversation(3)
    does(world, KeepLast(agent, 2))
    does(world, Fork(agent, CHILD))
    assert world.request(CHILD) == world.request(agent)


def test_a_fork_from_a_mark_sees_what_came_after_it() -> None:
    world, agent = conversation(2)
    does(world, SetMark(agent, "HERE"))
    world.turn(agent, "ask 3", "answer 3")
    world.turn(agent, "ask 4", "answer 4")
    does(world, Fork(agent, CHILD, "HERE"))
    assert said(world, CHILD)[::2] == ["ask 3", "ask 4"]
    assert said(world, agent)[::2] == ["ask 1", "ask 2", "ask 3", "ask 4"]


def test_a_fork_from_a_mark_right_here_starts_with_nothing() -> None:
    world, agent = conversation(2)
    does(world, SetMark(agent, "HERE"))
    does(world, Fork(agent, CHILD, "HERE"))
    assert said(world, CHILD) == []
    assert world.states[CHILD].open is None


def test_a_fork_from_a_mark_has_no_summary_of_what_came_before() -> None:
    world, agent = conversation(2)
    does(world, Compact(agent, "Numbers."))
    does(world, SetMark(agent, "HERE"))
    world.turn(agent, "ask 3", "answer 3")
    does(world, Fork(agent, CHILD, "HERE"))
    assert said(world, CHILD) == ["ask 3", "answer 3"]


@pytest.mark.parametrize("trim", [Compact(AGENT, "Numbers.", keep=1), KeepLast(AGENT, 1)])
def test_a_fork_from_a_mark_that_left_view_sees_what_came_after_it(trim: Command) -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, "OLD"))
    for number in range(2, 5):
        world.turn(agent, f"ask {number}", f"answer {number}")
    does(world, trim)
    does(world, Fork(agent, CHILD, "OLD", goal="Go on."))
    asked = said(world, CHILD)
    assert asked[:-1:2] == ["ask 2", "ask 3", "ask 4"]
    assert asked[-1].endswith("Go on.")
    assert world.states[CHILD].context.head == world.states[agent].marks[0].context.tip


def test_the_window_of_a_child_moves_at_once_if_the_turns_after_the_mark_are_too_many() -> None:
    world, agent = conversation(0, Settings(model="scripted", cap=60, low_water=1.0))
    does(world, SetMark(agent, "OLD"))
    for number in range(1, 9):
        world.turn(agent, f"ask {number}", f"answer {number}")
    does(world, Fork(agent, CHILD, "OLD", goal="Go on."))
    assert said(world, CHILD)[:-1] == said(world, agent)
    assert world.read_live(CHILD) == world.lives[CHILD]


def test_an_unknown_mark_is_refused() -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, "TASK"))
    assert refusal(world, Fork(agent, CHILD, "TSAK")) == UnknownMark("TSAK", ("TASK",), ("TASK",))


def test_the_goal_is_the_childs_first_prompt_and_gives_it_work() -> None:
    world, agent = conversation(1)
    does(world, Fork(agent, CHILD, goal="Find the leak."))
    assert said(world, CHILD) == ["ask 1", "answer 1", "Find the leak."]
    assert world.states[CHILD].open is not None
    assert world.states[agent].open is None


@pytest.mark.parametrize("goal", ["", "  \n"])
def test_a_blank_goal_is_none(goal: str) -> None:
    world, agent = conversation(1)
    does(world, Fork(agent, CHILD, goal=goal, delegated=True))
    assert world.states[CHILD].open is None
    assert world.states[agent].notes == ()


def test_a_child_inherits_model_settings_workspace_and_pins() -> None:
    world = CoreHarness()
    settings = Settings(model="scripted", system="Be brief.", cap=500)
    workspace = Workspace("project", "worktree", "branch")
    does(world, StartAgent(AGENT, "lead", settings, workspace, (Pin("rule", "No force push."),)))
    does(world, Fork(AGENT, CHILD))
    child = world.states[CHILD]
    assert (child.settings, child.workspace) == (settings, workspace)
    assert child.pins == (Pin("rule", "No force push."),)
    assert (child.parent, child.name) == (AGENT, "")


def test_a_child_has_no_marks_no_mail_and_no_waiting_notes() -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, "HERE"))
    does(world, Send(agent, "m1", "read"))
    does(world, ReadMail(agent))
    does(world, Send(agent, "m2", "unread"))
    does(world, Fork(agent, CHILD))
    child = world.states[CHILD]
    assert (child.marks, child.inbox, child.undo) == ((), (), ())
    assert [note.origin for note in child.notes] == ["parent"]


def test_the_note_to_a_child_without_a_goal_is_stored_without_its_text() -> None:
    world, agent = conversation(1)
    does(world, Fork(agent, CHILD))
    started = world.logs[CHILD][0].event
    assert isinstance(started, AgentStarted)
    assert started.notes == ()
    (note,) = world.states[CHILD].notes
    assert started.told == ParentNote(note.source, note.fence or "")
    assert note.text == (
        "The request below is your goal and outranks what you inherited. "
        "Your final answer is mailed to the parent."
    )


def test_both_logs_know_of_the_fork() -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, "HERE"))
    does(world, Fork(agent, CHILD, "HERE", goal="Look."))
    assert last_event(world, agent) == AgentForked(CHILD, "HERE", (Text("Look."),))
    born = world.logs[CHILD][0].event
    assert isinstance(born, AgentStarted)
    assert (born.by, born.parent, born.mark) == ("fork", agent, "HERE")
    assert world.logs[agent][-1].command == world.logs[CHILD][0].command


def test_a_child_copies_no_turn() -> None:
    world, agent = conversation(20)
    does(world, Fork(agent, CHILD))
    assert kinds(world, CHILD) == ["agent.started"]


PARENT_GOES_ON: dict[str, Command] = {
    "a turn": StartTurn(AGENT, (Text("ask 9"),)),
    "clear": Clear(AGENT),
    "clear N": KeepLast(AGENT, 1),
    "rewind": Rewind(AGENT, "HERE"),
    "compact": Compact(AGENT, "Something else."),
    "undo": Undo(AGENT),
    "mask": MaskResults(AGENT, 10),
    "pin": AddPin(AGENT, "rule", "Be loud."),
    "unpin": RemovePin(AGENT, "old"),
    "settings": Configure(AGENT, SettingsChange(system="Shout.", cap=1)),
    "archive": Archive(AGENT),
}


@pytest.mark.parametrize("command", PARENT_GOES_ON.values(), ids=PARENT_GOES_ON)
def test_what_the_parent_does_later_cannot_change_the_child(command: Command) -> None:
    world, agent = conversation(1)
    does(world, AddPin(agent, "old", "Stay."))
    does(world, SetMark(agent, "HERE"))
    uses_tool(world, agent, "x" * 500)
    does(world, Compact(agent, "Numbers.", keep=1))
    does(world, Fork(agent, CHILD))
    before = world.request(CHILD)
    does(world, command)
    assert world.request(CHILD) == before
    assert world.read_live(CHILD) == world.lives[CHILD]


def test_what_the_child_does_cannot_change_the_parent() -> None:
    world, agent = conversation(2)
    does(world, Fork(agent, CHILD))
    before = world.request(agent)
    world.turn(CHILD, "ask 3", "answer 3")
    does(world, Clear(CHILD))
    assert world.request(agent) == before


def test_an_archived_or_killed_agent_can_be_forked_by_a_person_to_go_on() -> None:
    world, agent = conversation(1)
    does(world, Kill(agent))
    does(world, Fork(agent, CHILD))
    assert world.request(CHILD) == world.request(agent)
    assert isinstance(refusal(world, Fork(agent, AgentId("other")), MODEL), NotRunning)


def test_the_id_of_a_child_must_be_new() -> None:
    world, agent = conversation(1)
    other = world.start()
    assert refusal(world, Fork(agent, other)) == AgentExists(other)
    assert refusal(world, Fork(agent, agent)) == AgentExists(agent)


def test_nobody_can_fork_an_agent_that_never_was() -> None:
    assert refusal(CoreHarness(), Fork(AGENT, CHILD)) == UnknownAgent(AGENT)


# Forks inside an open turn.


def test_a_fork_in_an_open_turn_is_asked_the_prompt_and_sees_no_half_done_work() -> None:
    world, agent = conversation(1)
    opens(world, agent, "ask 2")
    does(world, AddReply(agent, (Text("Let me look."), ToolCall("1", "read"))))
    does(world, FinishTool(agent, "1", "half-done"))
    does(world, Fork(agent, CHILD))
    assert said(world, CHILD) == ["ask 1", "answer 1", "ask 2"]
    assert world.states[CHILD].open is not None


def test_a_goal_follows_the_open_prompt() -> None:
    world, agent = conversation()
    opens(world, agent, "Do two things.")
    does(world, Fork(agent, CHILD, goal="You do the first."))
    assert said(world, CHILD) == ["Do two things.\n\nYou do the first."]


def test_a_mark_before_the_open_prompt_delegates_that_prompt() -> None:
    world, agent = conversation(2)
    does(world, SetMark(agent, "RESEARCH"))
    opens(world, agent, "Investigate OAuth2.")
    does(world, Fork(agent, CHILD, "RESEARCH"))
    assert said(world, CHILD) == ["Investigate OAuth2."]


def test_a_mark_by_a_model_delegates_what_it_wrote_after_it() -> None:
    world, agent = conversation(1)
    opens(world, agent, "Do two things.")
    mark, fork = ToolCall("1", "slash"), ToolCall("2", "slash")
    does(world, AddReply(agent, (Text("I delegate."), mark, Text("Find the leak."))))
    by_model(world, SetMark(agent, "TASK"), "1")
    does(world, FinishTool(agent, "1", "Marked 'TASK'."))
    does(world, AddReply(agent, (Text("  "), Text("Report by mail."), fork, Text("And I wait."))))
    by_model(world, Fork(agent, CHILD, "TASK"), "2")
    assert said(world, CHILD) == ["Find the leak.\n\nReport by mail."]
    assert results(world, CHILD) == []


def test_the_goal_of_a_model_comes_after_what_it_wrote() -> None:
    world, agent = conversation()
    opens(world, agent, "Do two things.")
    does(world, AddReply(agent, (ToolCall("1", "slash"), Text("Written."), ToolCall("2", "slash"))))
    by_model(world, SetMark(agent, "TASK"), "1")
    by_model(world, Fork(agent, CHILD, "TASK", goal="Said."), "2")
    assert said(world, CHILD) == ["Written.\n\nSaid."]


def test_a_model_that_wrote_nothing_after_its_mark_is_told_to() -> None:
    world, agent = conversation()
    opens(world, agent)
    does(world, AddReply(agent, (ToolCall("1", "slash"), ToolCall("2", "slash"))))
    by_model(world, SetMark(agent, "TASK"), "1")
    assert world.do(Fork(agent, CHILD, "TASK"), MODEL, "2") == NoGoal("TASK")
    assert CHILD not in world.states


def test_a_person_can_mark_and_fork_with_a_goal_in_an_open_turn() -> None:
    world, agent = conversation(1)
    opens(world, agent, "ask 2")
    does(world, SetMark(agent, "TASK"))
    assert refusal(world, Fork(agent, CHILD, "TASK")) == NoGoal("TASK")
    does(world, Fork(agent, CHILD, "TASK", goal="Find the leak.", delegated=True))
    assert said(world, CHILD) == ["Find the leak."]


def test_a_mark_in_an_earlier_turn_means_that_turns_start() -> None:
    world, agent = conversation(1)
    opens(world, agent, "ask 2")
    does(world, AddReply(agent, (ToolCall("1", "slash"), Text("after the mark"))))
    by_model(world, SetMark(agent, "TASK"), "1")
    does(world, FinishTool(agent, "1", "Marked."))
    does(world, CompleteTurn(agent))
    does(world, Fork(agent, CHILD, "TASK"))
    assert said(world, CHILD)[0] == "ask 2"


def test_what_is_masked_in_the_open_turn_is_masked_for_the_child() -> None:
    world, agent = conversation()
    uses_tool(world, agent, "x" * 500)
    opens(world, agent, "ask 2")
    does(world, MaskResults(agent, 100))
    does(world, Fork(agent, CHILD))
    assert results(world, CHILD) == results(world, agent)
    assert results(world, CHILD)[0].startswith("[masked")


# Delegated goals.


def test_a_delegated_goal_reaches_the_parents_model_with_the_next_prompt() -> None:
    world, agent = conversation(1)
    does(world, Fork(agent, CHILD, goal="Find the leak.", delegated=True))
    assert world.states[agent].notes == (Note("delegated", "Find the leak.", CHILD),)
    opens(world, agent, "And now?")
    assert said(world, agent)[-1] == (
        "[Delegated to agent child, which works on it]\nFind the leak.\n\nAnd now?"
    )
    assert world.states[agent].notes == ()


def test_a_goal_that_was_not_written_to_the_parent_is_no_note() -> None:
    world, agent = conversation(1)
    does(world, Fork(agent, CHILD, goal="Find the leak."))
    assert world.states[agent].notes == ()


def test_goals_delegated_while_a_turn_is_open_wait_for_the_next_prompt() -> None:
    world, agent = conversation()
    opens(world, agent, "ask 1")
    does(world, Fork(agent, CHILD, goal="Find the leak.", delegated=True))
    assert said(world, agent) == ["ask 1"]
    does(world, CompleteTurn(agent))
    assert "[Delegated to agent child" not in said(world, agent)[-1]
    opens(world, agent, "ask 2")
    assert "\n\n[Delegated to agent child" in said(world, agent)[-1]
