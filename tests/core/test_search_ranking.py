"""The order of what a search finds: what people and models said, then what tools printed."""

from sapwood.core.content import Text
from sapwood.core.events import (
    HUMAN,
    Event,
    Recorded,
    ReplyAdded,
    ShellRan,
    ToolFinished,
    TurnStarted,
)
from sapwood.core.ids import AgentId, CommandId
from sapwood.core.log_values import SearchHit
from sapwood.core.search_query import read_query
from sapwood.core.search_ranking import CandidateEvent, search_events

AGENT = AgentId("a")


def search(words: str, *turns: tuple[Event, ...]) -> list[SearchHit]:
    """The hits among these turns; a later turn is newer."""
    events: list[CandidateEvent] = []
    for turn in turns:
        first = len(events) + 1
        for event in turn:
            at = len(events)
            recorded = Recorded(AGENT, at + 1, event, at, HUMAN, CommandId("c"))
            events.append(CandidateEvent(recorded, first))
    return search_events(read_query(words), events)


def asked(text: str) -> TurnStarted:
    return TurnStarted(None, (Text(text),))


LOG = "heron 1\nheron 2\nheron 3\n" * 40


def test_words_of_people_and_models_come_before_what_tools_printed() -> None:
    hits = search(
        "heron",
        (asked("Where does the heron nest, and how many eggs does it lay in a cold spring?"),),
        (asked("Count them."), ReplyAdded((Text("The heron has three eggs."),))),
        (asked("Run the script."), ToolFinished("1", LOG)),
        (asked("Hello."), ShellRan("cat birds.txt", LOG)),
    )
    assert [hit.kind for hit in hits[:2]] == ["reply.added", "turn.started"]
    assert {hit.kind for hit in hits[2:]} == {"tool.finished", "shell.ran"}


def test_the_sentence_of_a_turn_is_what_was_said_in_it() -> None:
    [hit] = search(
        "heron", (asked("Run it."), ReplyAdded((Text("One heron."),)), ToolFinished("1", LOG))
    )
    assert hit.snippet == "One heron."


def test_what_only_a_tool_printed_is_found_before_a_part_of_the_query_that_was_said() -> None:
    hits = search(
        "heron colony census",
        (asked("Is there a census?"),),
        (asked("Run the script."), ToolFinished("1", "heron colony census: 41 nests")),
    )
    assert hits[0].kind == "tool.finished"
