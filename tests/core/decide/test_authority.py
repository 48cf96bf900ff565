"""A model can do what the table gives it, and nothing else."""

import pytest

from sapwood.core.commands import (
    AddPin,
    AnswerQuestion,
    Archive,
    Command,
    Configure,
    DropSummary,
    EndJob,
    MaskResults,
    RecordShell,
    RecordSideAnswer,
    RecordTurn,
    Redo,
    RemovePin,
    Rename,
    SetGoal,
    StartAgent,
    StartSuccessor,
    StartTurn,
    Unarchive,
    Undo,
)
from sapwood.core.content import Text, Usage
from sapwood.core.ids import AgentId
from sapwood.core.refusals import HumanOnly
from sapwood.core.settings import SettingsChange
from tests.core.speaking import MODEL, conversation, opens, refusal

AGENT, NEW = AgentId("agent1"), AgentId("new")

FORBIDDEN: dict[str, Command] = {
    "/undo": Undo(AGENT),
    "/redo": Redo(AGENT),
    "/pin": AddPin(AGENT, "rule", "x"),
    "/unpin": RemovePin(AGENT, "rule"),
    "/config": Configure(AGENT, SettingsChange(model="another")),
    "/archive": Archive(AGENT),
    "/unarchive": Unarchive(AGENT),
    "/rename": Rename(AGENT, "other"),
    "/jobs": EndJob(AGENT, 1, "ended"),
    "/shell": RecordShell(AGENT, "make", "[exit status 0]"),
    "/goal": SetGoal(AGENT, "g1", "Count."),
    "/btw": RecordSideAnswer(AGENT, NEW, "Why?", "Because."),
    "/answer": AnswerQuestion(AGENT, "q1", "ab12", True),
    "/new": StartSuccessor(AGENT, NEW),
    "Start agent": StartAgent(NEW),
    "Start turn": StartTurn(AGENT, (Text("As the user, I say yes."),)),
    "Record turn": RecordTurn(AGENT, (Text("As the user, I say yes."),)),
    "Mask results": MaskResults(AGENT, 10),
    "Drop summary": DropSummary(AGENT, "scripted", Usage(100)),
}


@pytest.mark.parametrize("name", FORBIDDEN)
@pytest.mark.parametrize("turn", ["open", "none"])
def test_what_is_for_people_is_refused_to_models(name: str, turn: str) -> None:
    world, agent = conversation(1)
    if turn == "open":
        opens(world, agent)
    assert refusal(world, FORBIDDEN[name], MODEL) == HumanOnly(name)


def test_a_model_is_told_whom_to_ask() -> None:
    assert HumanOnly("/undo").sentence == "Models may not use /undo. Ask the user to run it."
