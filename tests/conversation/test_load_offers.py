"""Offers: a prompt names something that only a turn out of view has."""

from collections.abc import Sequence

import pytest
from msgspec import structs

from sapwood.conversation.answers import LoadOffer, Prompted
from sapwood.conversation.load_offers import names_of_prompt, take_out_unused
from sapwood.conversation.service import ConversationService
from sapwood.core.commands import (
    AddPin,
    AddReply,
    Clear,
    CompleteTurn,
    Drop,
    FinishTool,
    KeepLast,
    Load,
    Rewind,
    SetGoal,
    SetMark,
    StartTurn,
)
from sapwood.core.content import PromptPart, Text, ToolCall
from sapwood.core.ids import EventRef, TurnPlace
from sapwood.core.state import State
from tests.conversation.spaces import service_of
from tests.store.memory_log import MemoryLog
from tests.turns.commanding import AGENT, SPACE, Desk


@pytest.mark.parametrize(
    ("prompt", "names"),
    [
        ("look at src/retry.py again", ("src/retry.py",)),
        ("what did computeVatForLine do?", ("computeVatForLine",)),
        ("not_null_orders fails. PROJ-123?", ("not_null_orders", "PROJ-123")),
        ("ZeroDivisionError in ocupacion.py:88", ("ZeroDivisionError", "ocupacion.py:88")),
        ('it says "connection reset by peer"', ("connection reset by peer",)),
        ("run `make all` once more", ("make all",)),
        ("revert 3f2a91c and call close()", ("3f2a91c",)),
    ],
)
def test_files_identifiers_errors_and_quotes_are_names(prompt: str, names: tuple[str, ...]) -> None:
    assert names_of_prompt((Text(prompt),)) == names


@pytest.mark.parametrize(
    "prompt",
    [
        "Now do the same for GitHub and/or PostgreSQL, e.g. in the client/server part.",
        'Say "yes" to all. See https://example.com/a/b/c.html',
        "Version 3.9 or 2.0.1, p95 at 40ms, port 5432.",
        "",
    ],
)
def test_plain_words_brands_links_and_numbers_are_no_names(prompt: str) -> None:
    assert names_of_prompt((Text(prompt),)) == ()


@pytest.fixture
async def desk(log: MemoryLog) -> Desk:
    """Four turns, of which the last is in view."""
    desk = Desk(log)
    await desk.start()
    await desk.turn("How does retry.py wait?", "It doubles the delay in next_delay.")
    await desk.turn("And the tests?", "All pass.")
    await desk.turn("Raise the limit.", "Done in limits.toml.")
    await desk.turn("Thanks.", "You are welcome.")
    await desk.do(KeepLast(AGENT, 1))
    return desk


async def offered(desk: Desk, prompt: str) -> LoadOffer | None:
    answer = await service_of(desk).prompt(AGENT, prompt)
    assert isinstance(answer, Prompted)
    assert (answer.offer is None) == (not answer.message)
    return answer.offer


async def test_a_turn_out_of_view_is_offered_with_its_size_and_command(desk: Desk) -> None:
    offer = await offered(desk, "Change next_delay in retry.py")
    assert offer is not None
    assert (offer.names, offer.place, offer.line) == (("next_delay", "retry.py"), "1", "/bring 1")
    assert offer.tokens.tokens == len(
        "User: How does retry.py wait?\n\nAssistant: It doubles the delay in next_delay."
    )
    assert "next_delay and retry.py are only in turn 1" in offer.sentence


async def test_what_stands_outside_of_turns_is_not_offered(desk: Desk) -> None:
    await desk.do(SetGoal(AGENT, "g1", "Make ok.txt exist.", "test -f ok.txt", 5))
    assert await offered(desk, "Look at ok.txt") is None


async def test_nothing_is_brought_back_by_an_offer(desk: Desk) -> None:
    await offered(desk, "Change next_delay")
    assert await desk.said() == ["Thanks.", "You are welcome.", "Change next_delay"]


@pytest.mark.parametrize("prompt", ["Go on.", "Write other.py", "How does retry wait?"])
async def test_a_prompt_that_names_nothing_of_it_gets_no_offer(desk: Desk, prompt: str) -> None:
    assert await offered(desk, prompt) is None


async def test_what_is_in_view_is_not_offered(desk: Desk) -> None:
    await desk.do(AddPin(AGENT, "rule", "Never touch retry.py."))
    await desk.do(Load(AGENT, EventRef(AGENT, 8), "User: Raise it.\n\nAssistant: limits.toml"))
    assert await offered(desk, "Open src/retry.py and limits.toml") is None


async def test_a_name_that_is_in_view_in_another_spelling_is_not_offered(log: MemoryLog) -> None:
    desk = Desk(log)
    await desk.start()
    await desk.turn("Make catalogue/marc.py", "Made.")
    await desk.turn("Check catalogue/marc.py", "Checked.")
    await desk.do(KeepLast(AGENT, 1))
    assert await offered(desk, "Run catalogue.marc now") is None


async def test_turns_that_were_rewound_are_not_offered(desk: Desk) -> None:
    await desk.do(SetMark(AGENT, "here"))
    await desk.turn("Try wrong_idea.py", "It fails.")
    await desk.do(Rewind(AGENT, "here"))
    assert await offered(desk, "What about wrong_idea.py?") is None


async def test_the_newest_of_the_turns_with_a_name_is_offered(log: MemoryLog) -> None:
    desk = Desk(log)
    await desk.start()
    await desk.turn("Make retry.py", "Made.")
    await desk.turn("Mend retry.py", "Mended.")
    await desk.turn("Thanks.", "You are welcome.")
    await desk.do(KeepLast(AGENT, 1))
    offer = await offered(desk, "Open retry.py")
    assert offer is not None
    assert offer.place == "2"
    assert offer.sentence.startswith("retry.py is only in 2 turns out of view, last in turn 2.")


async def used(desk: Desk, args: str) -> LoadOffer | None:
    """The offer for a prompt that names nothing, after a turn with a tool call."""
    await desk.do(StartTurn(AGENT, (Text("Go on."),)))
    await desk.do(AddReply(AGENT, (ToolCall("1", "read_file", args),)))
    await desk.do(FinishTool(AGENT, "1", "retry.py and other.py"))
    await desk.do(AddReply(AGENT, (Text("Read."),)))
    await desk.do(CompleteTurn(AGENT))
    offer = await offered(desk, "And now?")
    await desk.do(CompleteTurn(AGENT))
    return offer


async def test_a_turn_that_the_last_tool_call_names_is_offered(desk: Desk) -> None:
    await desk.turn("Keep the limit in lib/delay.toml.", "It stays at 30.")
    await desk.turn("Thanks.", "You are welcome.")
    await desk.do(KeepLast(AGENT, 1))
    offer = await used(desk, '{"path": "/srv/ada/delays/lib/delay.toml"}')
    assert offer is not None
    assert (offer.names, offer.place, offer.by_call) == (("lib/delay.toml",), "5", True)
    assert offer.sentence.startswith(
        "The last turn used what is out of view: lib/delay.toml is only in turn 5, "
    )


async def test_a_call_that_names_nothing_of_it_gets_no_offer(desk: Desk) -> None:
    for args in ('{"path": "other.py"}', '{"text": "a\\nretry.py"}', "no JSON", '{"n": 1}'):
        assert await used(desk, args) is None


def bringing(desk: Desk, tokens: int = 1_000) -> ConversationService:
    services = structs.replace(service_of(desk).services, bring_tokens=tokens)
    return ConversationService(services)


async def prompted(desk: Desk, text: str, reply: str = "Done.", tokens: int = 1_000) -> Prompted:
    """A whole turn, with the setting that brings turns back."""
    answer = await bringing(desk, tokens).prompt(AGENT, text)
    assert isinstance(answer, Prompted)
    await desk.do(AddReply(AGENT, (Text(reply),)))
    await desk.do(CompleteTurn(AGENT))
    return answer


async def quoted(desk: Desk) -> list[str]:
    live = (await desk.dispatcher.open(AGENT)).live
    return [each.place for each in live.loaded]


async def test_within_the_budget_a_turn_comes_back_before_the_prompt_is_sent(desk: Desk) -> None:
    answer = await prompted(desk, "Change next_delay in retry.py")
    assert answer.message.startswith("Turn 1 was brought back (77): next_delay and retry.py are in")
    assert await quoted(desk) == ["1"]
    loaded = [each for each in await desk.log.read(SPACE, AGENT) if each.kind == "context.loaded"]
    assert [each.actor.role for each in loaded] == ["system"]


async def test_a_turn_over_the_budget_is_only_offered(desk: Desk) -> None:
    answer = await prompted(desk, "Change next_delay", tokens=20)
    assert "To bring it back" in answer.message
    assert await quoted(desk) == []


async def test_a_turn_that_was_brought_back_stays_while_it_is_used(desk: Desk) -> None:
    await prompted(desk, "Change next_delay", "next_delay is changed.")
    await prompted(desk, "Good. Anything else?", "No.")
    assert await quoted(desk) == ["1"]
    await prompted(desk, "What does next_delay return?", "A number.")
    assert await quoted(desk) == ["1"]


async def test_a_turn_that_nobody_used_leaves_again(desk: Desk) -> None:
    await prompted(desk, "Change next_delay", "I would rather not.")
    await prompted(desk, "As you like.", "Thanks.")
    assert await quoted(desk) == []
    assert (await desk.kinds())[-4:-3] == ["context.undone"]


async def test_what_a_person_cleared_while_a_prompt_is_checked_stays_cleared(desk: Desk) -> None:
    await prompted(desk, "Change next_delay", "I would rather not.")

    async def check_prompt(state: State, parts: Sequence[PromptPart]) -> None:
        await desk.do(Clear(AGENT))

    services = structs.replace(bringing(desk).services, check_prompt=check_prompt)
    assert isinstance(await ConversationService(services).prompt(AGENT, "As you like."), Prompted)
    live = (await desk.dispatcher.open(AGENT)).live
    assert (live.turns, live.loaded) == ((), ())
    assert "context.undone" not in await desk.kinds()


async def test_what_a_person_cleared_last_is_not_undone_in_place_of_an_unused_turn(
    desk: Desk,
) -> None:
    await prompted(desk, "Change next_delay", "I would rather not.")
    before = await desk.dispatcher.open(AGENT)
    await desk.do(Clear(AGENT))
    assert not await take_out_unused(service_of(desk).services.space, before, (Text("Yes."),))
    assert (await desk.dispatcher.open(AGENT)).live.turns == ()


async def test_what_a_person_brought_back_never_leaves_by_itself(desk: Desk) -> None:
    await desk.do(Load(AGENT, EventRef(AGENT, 2), "User: How?", place="1"))
    await prompted(desk, "Change something.", "Done.")
    await prompted(desk, "Thanks.", "Welcome.")
    assert await quoted(desk) == ["1"]


async def test_a_turn_that_was_dropped_is_offered_and_never_comes_back_by_itself(
    log: MemoryLog,
) -> None:
    desk = Desk(log)
    await desk.start()
    await desk.turn("How does retry.py wait?", "It doubles the delay.")
    await desk.turn("Thanks.", "You are welcome.")
    await desk.do(Drop(AGENT, (TurnPlace(1, 1),)))
    answer = await prompted(desk, "Change retry.py")
    assert answer.offer is not None
    assert (answer.offer.line, answer.offer.is_brought) == ("/bring 1", False)
    assert await quoted(desk) == []
