"""Agents as such: start, settings, pins, focus, archive, succession."""

import pytest

from sapwood.core.commands import (
    AddPin,
    Archive,
    Clear,
    Configure,
    DeclareNote,
    Focus,
    Fork,
    Kill,
    RecordJudgement,
    RemovePin,
    Rename,
    Send,
    SetMark,
    StartAgent,
    StartSuccessor,
    StartTurn,
    Unarchive,
    Unfocus,
)
from sapwood.core.content import Text, Usage
from sapwood.core.decide.agents import NAME_LIMIT, PIN_LIMIT
from sapwood.core.events import (
    SYSTEM,
    AgentArchived,
    AgentRenamed,
    AgentStarted,
    JudgedSentence,
    JudgedStretch,
    Pin,
    SettingsChanged,
)
from sapwood.core.ids import AgentId
from sapwood.core.refusals import (
    AgentExists,
    BadSetting,
    EmptyText,
    NotArchived,
    NotRunning,
    Refusal,
    SystemOnly,
    TooLong,
    TooManyNotes,
    TurnIsOpen,
    UnknownAgent,
    UnknownNote,
    UnknownPin,
)
from sapwood.core.settings import Settings, SettingsChange, Workspace
from sapwood.core.state import (
    JUDGED_LENGTH,
    JUDGED_SENTENCES,
    JUDGED_STRETCHES,
    NOTES_LIMIT,
)
from sapwood.testing import CoreHarness
from tests.core.speaking import conversation, does, kinds, last_event, opens, refusal, said

AGENT, NEXT = AgentId("agent1"), AgentId("next")


# Start


def test_an_agent_starts_with_what_it_was_given() -> None:
    world = CoreHarness()
    settings, workspace = Settings("scripted", cap=5), Workspace("project")
    pins = (Pin("rule", "Be brief."),)
    assert does(world, StartAgent(AGENT, "lead", settings, workspace, pins)) == "Started agent1."
    state = world.states[AGENT]
    assert (state.status, state.name, state.parent) == ("running", "lead", None)
    assert (state.settings, state.workspace, state.pins) == (settings, workspace, pins)


def test_an_id_is_used_once() -> None:
    world, agent = conversation()
    assert refusal(world, StartAgent(agent)) == AgentExists(agent)
    does(world, Kill(agent))
    assert refusal(world, StartAgent(agent)) == AgentExists(agent)


def test_an_agent_is_not_started_with_blank_pins() -> None:
    blank = StartAgent(AGENT, pins=(Pin("rule", "  "),))
    assert refusal(CoreHarness(), blank) == EmptyText("pin")
    nameless = StartAgent(AGENT, pins=(Pin("", "x"),))
    assert refusal(CoreHarness(), nameless) == EmptyText("name of the pin")


def test_of_two_pins_with_one_name_the_later_stands() -> None:
    world = CoreHarness()
    does(world, StartAgent(AGENT, pins=(Pin("rule", "one"), Pin("rule", "two"))))
    assert world.states[AGENT].pins == (Pin("rule", "two"),)


def test_what_never_was_can_do_nothing() -> None:
    nobody = AgentId("nobody")
    assert refusal(CoreHarness(), SetMark(nobody)) == UnknownAgent(nobody)


# Settings


def test_a_change_of_settings_leaves_the_rest() -> None:
    world, agent = conversation(settings=Settings("scripted", system="Be brief."))
    assert does(world, Configure(agent, SettingsChange(cap=7))) == "cap is now 7."
    assert world.states[agent].settings == Settings("scripted", "Be brief.", cap=7)
    assert last_event(world, agent) == SettingsChanged(SettingsChange(cap=7))


def test_a_setting_can_be_set_back_to_nothing() -> None:
    world, agent = conversation(settings=Settings("scripted", system="Be brief."))
    does(world, Configure(agent, SettingsChange(system="")))
    assert world.request(agent).system == ()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (SettingsChange(), "no setting was given"),
        (SettingsChange(cap=100_000), "cap is already 100k"),
        (SettingsChange(cap=100_000, window=0), "cap is already 100k and window is already 0"),
    ],
)
def test_a_change_to_what_is_so_already_changes_nothing_and_says_so(
    change: SettingsChange, what: str
) -> None:
    world, agent = conversation()
    assert does(world, Configure(agent, change)) == f"Nothing changed: {what}."
    assert kinds(world, agent) == ["agent.started"]


BAD_SETTINGS = {
    "cap": SettingsChange(cap=-1),
    "low_water": SettingsChange(low_water=0.0),
    "low_water over 1": SettingsChange(low_water=1.01),
    "low_water that is no number": SettingsChange(low_water=float("nan")),
    "mask_over": SettingsChange(mask_over=-5),
    "window": SettingsChange(window=-1),
    "levels": SettingsChange(levels=(0.5, 0.4, 0.9)),
    "levels over 1": SettingsChange(levels=(0.5, 0.6, 1.1)),
    "levels of 0": SettingsChange(levels=(0.0, 0.6, 0.9)),
}


@pytest.mark.parametrize(("name", "change"), BAD_SETTINGS.items(), ids=BAD_SETTINGS)
def test_settings_that_make_no_sense_are_refused(name: str, change: SettingsChange) -> None:
    world, agent = conversation()
    reason = refusal(world, Configure(agent, change))
    assert isinstance(reason, BadSetting)
    assert reason.name == name.split()[0]
    start = StartAgent(NEXT, settings=change.applied_to(Settings()))
    assert isinstance(refusal(world, start), BadSetting)


def test_the_limits_themselves_are_fine() -> None:
    world, agent = conversation()
    change = SettingsChange(cap=0, low_water=1.0, mask_over=0, window=0, levels=(1.0, 1.0, 1.0))
    does(world, Configure(agent, change))


def test_settings_may_change_while_a_turn_is_open() -> None:
    world, agent = conversation()
    opens(world, agent)
    does(world, Configure(agent, SettingsChange(system="Be brief.")))
    assert world.request(agent).system[0].text == "Be brief."


# Pins


def test_a_pin_is_in_every_request_whatever_is_trimmed() -> None:
    world, agent = conversation(2)
    assert does(world, AddPin(agent, "rule", "No force push.")) == "Pinned 'rule'."
    does(world, Clear(agent))
    (block,) = world.request(agent).system
    assert (block.kind, block.name, block.text) == ("pin", "rule", "No force push.")


def test_the_same_name_replaces_a_pin() -> None:
    world, agent = conversation()
    for text in ("one", "two"):
        does(world, AddPin(agent, "rule", text))
    assert world.states[agent].pins == (Pin("rule", "two"),)


def test_the_same_pin_again_changes_nothing_and_says_so() -> None:
    world, agent = conversation()
    does(world, AddPin(agent, "rule", "one"))
    assert does(world, AddPin(agent, "rule", "one")) == "'rule' is already pinned with this text."
    assert kinds(world, agent).count("pin.added") == 1


def test_a_pin_can_be_taken_out() -> None:
    world, agent = conversation()
    does(world, AddPin(agent, "rule", "one"))
    assert does(world, RemovePin(agent, "rule")) == "Unpinned 'rule'."
    assert world.states[agent].pins == ()


def test_a_pin_that_is_not_there_is_refused_with_the_nearest_name() -> None:
    world, agent = conversation()
    does(world, AddPin(agent, "rules", "one"))
    assert refusal(world, RemovePin(agent, "rule")) == UnknownPin("rule", ("rules",))


def test_blank_and_endless_pins_are_refused() -> None:
    world, agent = conversation()
    assert refusal(world, AddPin(agent, " ", "x")) == EmptyText("name of the pin")
    assert refusal(world, AddPin(agent, "rule", "\n")) == EmptyText("pin")
    long = "x" * (PIN_LIMIT + 1)
    assert refusal(world, AddPin(agent, "rule", long)) == TooLong("pin", PIN_LIMIT)


# Focus


def test_the_focus_is_ordered_by_priority_then_by_age_newest_first() -> None:
    world, agent = conversation()
    for topic, priority in (("docs", 2), ("auth", 1), ("tests", 1)):
        does(world, Focus(agent, topic, priority))
    assert [focus.topic for focus in world.states[agent].focus] == ["tests", "auth", "docs"]


def test_focusing_again_moves_a_topic() -> None:
    world, agent = conversation()
    does(world, Focus(agent, "docs", 3))
    does(world, Focus(agent, "auth", 2))
    does(world, Focus(agent, "docs", 0))
    assert [(f.topic, f.priority) for f in world.states[agent].focus] == [("docs", 1), ("auth", 2)]


def test_an_unfocused_topic_goes_to_the_background_and_comes_back() -> None:
    world, agent = conversation()
    does(world, Focus(agent, "docs"))
    assert does(world, Unfocus(agent, "docs")) == "In the background: docs."
    assert world.states[agent].focus == ()
    assert world.states[agent].background == ("docs",)
    assert does(world, Focus(agent, "docs")) == "In focus: docs."
    assert world.states[agent].background == ()


def test_a_topic_has_words() -> None:
    world, agent = conversation()
    assert refusal(world, Focus(agent, " ")) == EmptyText("topic")
    assert refusal(world, Unfocus(agent, "")) == EmptyText("topic")


# Names


def test_a_renamed_agent_keeps_its_id_and_shows_its_new_name() -> None:
    world, agent = conversation(1)
    assert does(world, Rename(agent, "leak hunt")) == "Renamed agent1 to 'leak hunt'."
    assert world.states[agent].name == "leak hunt"
    assert last_event(world, agent) == AgentRenamed("leak hunt")


def test_an_archived_agent_can_be_renamed() -> None:
    world, agent = conversation(1)
    does(world, Archive(agent))
    assert does(world, Rename(agent, "done")) == "Renamed agent1 to 'done'."


def test_a_name_is_neither_blank_nor_longer_than_a_line() -> None:
    world, agent = conversation(1)
    assert refusal(world, Rename(agent, " ")) == EmptyText("name")
    assert refusal(world, Rename(agent, "x" * (NAME_LIMIT + 1))) == TooLong("name", NAME_LIMIT)


# Archive and new


def test_an_archived_agent_rests_and_can_be_read() -> None:
    world, agent = conversation(1)
    assert does(world, Archive(agent)) == "Archived agent1."
    assert world.states[agent].status == "archived"
    assert said(world, agent) == ["ask 1", "answer 1"]
    assert refusal(world, StartTurn(agent, (Text("x"),))) == NotRunning(agent, "archived")
    assert refusal(world, Archive(agent)) == NotRunning(agent, "archived")


def test_an_archived_agent_can_run_again_with_its_history() -> None:
    world, agent = conversation(1)
    does(world, Archive(agent))
    assert does(world, Unarchive(agent)) == "agent1 is open again."
    assert world.states[agent].status == "running"
    assert said(world, agent) == ["ask 1", "answer 1"]
    does(world, StartTurn(agent, (Text("x"),)))


def test_only_an_archived_agent_can_be_unarchived() -> None:
    world, agent = conversation(1)
    assert refusal(world, Unarchive(agent)) == NotArchived(agent, "running")
    does(world, Kill(agent))
    assert refusal(world, Unarchive(agent)) == NotArchived(agent, "killed")


def test_new_archives_and_starts_afresh_with_workspace_model_settings_and_pins() -> None:
    world = CoreHarness()
    settings, workspace = Settings("scripted", cap=5), Workspace("project", "tree", "branch")
    does(world, StartAgent(AGENT, "lead", settings, workspace, (Pin("rule", "x"),)))
    world.turn(AGENT, "ask", "answer")
    does(world, SetMark(AGENT, "HERE"))
    does(world, Send(AGENT, "m1", "Look."))
    assert does(world, StartSuccessor(AGENT, NEXT)) == "Archived agent1. New agent: next"
    assert last_event(world, AGENT) == AgentArchived(NEXT)
    fresh = world.states[NEXT]
    assert (fresh.settings, fresh.workspace, fresh.pins) == (
        settings,
        workspace,
        (Pin("rule", "x"),),
    )
    assert (fresh.name, fresh.status, fresh.marks, fresh.inbox) == ("lead", "running", (), ())
    assert said(world, NEXT) == []
    born = world.logs[NEXT][0].event
    assert isinstance(born, AgentStarted)
    assert born.by == "succession"


def test_a_successor_has_its_predecessors_parent_and_may_have_another_name() -> None:
    world, agent = conversation()
    does(world, Fork(agent, child := AgentId("child"), name="scout"))
    does(world, StartSuccessor(child, NEXT, name="scout 2"))
    assert (world.states[NEXT].parent, world.states[NEXT].name) == (agent, "scout 2")


def test_a_successor_has_the_pins_but_not_the_accepted_plan() -> None:
    world, agent = conversation()
    for name in ("style", "plan"):
        does(world, AddPin(agent, name, "Be brief."))
    does(world, StartSuccessor(agent, NEXT))
    assert [pin.name for pin in world.states[NEXT].pins] == ["style"]


def test_the_id_of_a_successor_must_be_new() -> None:
    world, agent = conversation()
    other = world.start()
    assert refusal(world, StartSuccessor(agent, other)) == AgentExists(other)
    assert refusal(world, StartSuccessor(agent, agent)) == AgentExists(agent)


def test_new_and_archive_wait_for_the_running_turn() -> None:
    world, agent = conversation()
    opens(world, agent)
    assert refusal(world, StartSuccessor(agent, NEXT)) == TurnIsOpen("/new")
    assert refusal(world, Archive(agent)) == TurnIsOpen("/archive")


# Notes


def test_a_note_is_in_force_until_another_replaces_it() -> None:
    world, agent = conversation()
    assert does(world, DeclareNote(agent, "question", "How long?")) == "Noted the question."
    (asked,) = world.states[agent].declared
    assert (asked.note, asked.text, asked.by) == ("question", "How long?", "human")
    does(world, DeclareNote(agent, "answer", "Thirty days", asked.id))
    (answer,) = world.states[agent].declared
    assert (answer.text, answer.about) == ("Thirty days", "How long?")


def test_the_same_note_is_kept_once() -> None:
    world, agent = conversation()
    does(world, DeclareNote(agent, "goal", "Ship"))
    (first,) = world.states[agent].declared
    assert does(world, DeclareNote(agent, "goal", "Ship")) == f"Already noted as {first.id}."
    assert len(world.states[agent].declared) == 1


def test_a_note_has_words_and_replaces_one_that_is_in_force() -> None:
    world, agent = conversation()
    assert refusal(world, DeclareNote(agent, "goal", " ")) == EmptyText("goal")
    assert refusal(world, DeclareNote(agent, "goal", "Ship", 99)) == UnknownNote(99)


def test_there_is_a_limit_of_notes_in_force() -> None:
    world, agent = conversation()
    for number in range(NOTES_LIMIT):
        does(world, DeclareNote(agent, "decision", f"number {number}"))
    assert refusal(world, DeclareNote(agent, "goal", "Ship")) == TooManyNotes(NOTES_LIMIT)
    oldest = world.states[agent].declared[0]
    does(world, DeclareNote(agent, "goal", "Ship", oldest.id))
    assert len(world.states[agent].declared) == NOTES_LIMIT


# Judgements


def record(world: CoreHarness, command: RecordJudgement) -> None:
    assert not isinstance(world.do(command, SYSTEM), Refusal)


def test_a_judgement_is_added_and_newer_words_replace_older_ones() -> None:
    world, agent = conversation()
    first = RecordJudgement(
        agent,
        "gpt-5",
        (JudgedStretch(1, 2, "goal"), JudgedStretch(3, 4, "no work")),
        (JudgedSentence("Use tabs", "decision", "tabs"), JudgedSentence("Ok", "neither", "Ok")),
        Usage(100, 10, cost=7),
    )
    record(world, first)
    record(
        world,
        RecordJudgement(
            agent,
            "codex",
            (JudgedStretch(3, 4, "obstacle"),),
            (JudgedSentence("tabs", "neither", "tabs"),),
            Usage(50, 5, cost=3),
        ),
    )
    judged = world.states[agent].judged
    assert (judged.judge, judged.usage) == ("codex", Usage(150, 15, cost=10))
    assert judged.stretches == (JudgedStretch(1, 2, "goal"), JudgedStretch(3, 4, "obstacle"))
    assert [each.text for each in judged.sentences] == ["Ok", "tabs"]
    assert world.states[agent].spent.cost == 10


def test_only_the_system_records_a_judgement() -> None:
    world, agent = conversation()
    judgement = RecordJudgement(agent, "gpt-5")
    assert refusal(world, judgement) == SystemOnly("RecordJudgement")


def test_a_judgement_is_bounded() -> None:
    world, agent = conversation()
    long = tuple(JudgedSentence(f"{n} {'x' * 900}", "decision") for n in range(200))
    many = tuple(JudgedStretch(n, n, "goal") for n in range(1, 200))
    record(world, RecordJudgement(agent, "gpt-5", many, long))
    judged = world.states[agent].judged
    assert len(judged.sentences) == JUDGED_SENTENCES
    assert len(judged.stretches) == JUDGED_STRETCHES
    assert max(len(each.text) for each in judged.sentences) == JUDGED_LENGTH
