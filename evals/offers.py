"""The eval of offers: how often the turn that is offered is the one that answers the prompt.

The questions of the eval of search are the prompts: each is sent at the end of its conversation, of
which only the last turns are in view. Most of them name no file, error or identifier and must get
no offer. For comparison, the first hit of a search for the whole prompt is offered every time.

The tool calls of `offer_calls` are made in the last turn in view, after turns that left view and
some ordinary ones. An offer is right if it is the turn with the label.

The sessions of the other evals are sent turn by turn with as much in view. They name little that is
out of view, so they show how often an offer is made without need. Their labels were given by the
author of the rule, who had seen the offers and mended the one that was wrong.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

import sapwood
from evals.labels import FOLDER
from evals.search.filler import filler_turns
from evals.search.questions import HALVES, SearchConversation, read_half
from sapwood.conversation.load_offers import load_offer, names_of_prompt, offer_for_calls
from sapwood.conversation.turn_search import search_turns
from sapwood.core.commands import AddReply, CompleteTurn, FinishTool, KeepLast, StartTurn
from sapwood.core.content import Text, ToolCall
from sapwood.programs.transcripts.session_reader import read_session
from sapwood.turns.clock_and_ids import command_meta

RIGHT_IN_SESSIONS = {
    ("invoice-fonts", 12): "3",
    ("webhook-retries", 13): "3",
    ("k2_sre_night", 10): "4",
    ("k2_sre_night", 17): "8",
    ("s1_oauth_pkce", 6): "1",
}
"""The turns that a prompt of a session refers to. An offer of any other turn is wrong."""
_SETS = ("held_out", "quoted_held_out", "strangers")
LIMIT = 0.9
"""The least precision. There is no limit for recall: an offer that is not made costs a search."""
_IN_VIEW = 3
_FILLER = 5


class OfferScore(Struct):
    """Offers that were right and wrong, and prompts with a name that got none."""

    right: int = 0
    wrong: int = 0
    missed: int = 0
    prompts: int = 0

    @property
    def precision(self) -> float:
        """The share of the offers that were right."""
        return self.right / max(1, self.right + self.wrong)

    def add(self, place: str, answer: str, *, named: bool = True) -> None:
        """Counts the turn that was offered for a prompt; '' is none."""
        self.prompts += 1
        self.right += place == answer
        self.wrong += bool(place) and place != answer
        self.missed += not place and named


def main(argv: list[str]) -> int:
    """Prints the precision of both halves. Returns 1 if one is below the limit."""
    is_short = False
    for half in HALVES[:1] if "--tuned" in argv else HALVES:
        ours, first_hit, wrong = asyncio.run(_scores(read_half(half)))
        _print(f"{half}, offers", ours)
        _print(f"{half}, the first hit of a search", first_hit)
        if "--misses" in argv and half == "tuned":
            print("\n".join(wrong))
        is_short |= ours.precision < LIMIT
    for half in HALVES[:1] if "--tuned" in argv else HALVES:
        calls, wrong = asyncio.run(_call_score(read_calls(half)))
        _print(f"{half}, offers for tool calls", calls)
        if "--misses" in argv and half == "tuned":
            print("\n".join(wrong))
        is_short |= calls.precision < LIMIT
    if "--tuned" not in argv:
        sessions = asyncio.run(_session_score())
        _print("sessions, offers", sessions)
        is_short |= sessions.precision < LIMIT
    print(f"limit: precision {LIMIT} in each row of offers")
    return int(is_short)


def _print(name: str, score: OfferScore) -> None:
    print(
        f"{name:<36} precision {score.precision:.2f}: {score.right} right, {score.wrong} wrong, "
        f"{score.missed} not made, {score.prompts} prompts"
    )


class CallCase(Struct, frozen=True):
    """Turns that left view, the turn of the call, the call, and the turn to offer; 0 is none."""

    facts: tuple[tuple[str, str], ...]
    in_view: tuple[str, str]
    call: str
    answer: int


class _CallCases(Struct, frozen=True):
    case: tuple[CallCase, ...]


def read_calls(half: str) -> tuple[CallCase, ...]:
    """The tool calls of one half."""
    path = Path(__file__).parent / "offer_calls" / f"{half}.toml"
    return msgspec.toml.decode(path.read_bytes(), type=_CallCases).case


async def _call_score(cases: Sequence[CallCase]) -> tuple[OfferScore, list[str]]:
    score, errors = OfferScore(), list[str]()
    async with sapwood.open(":memory:") as db:
        space = db.connection
        for number, case in enumerate(cases):
            agent = await db.start(f"case{number}")
            for prompt, reply in (*case.facts, *filler_turns("en", case.call, _FILLER)):
                await agent.record(prompt, reply)
            name, _, args = case.call.partition(" ")
            call = ToolCall("1", name, args)
            prompt, reply = case.in_view
            await agent.do(StartTurn(agent.id, (Text(prompt),)))
            await agent.do(AddReply(agent.id, (Text(reply), call)))
            await agent.do(FinishTool(agent.id, "1", "done"))
            await agent.do(AddReply(agent.id, (Text("Ready."),)))
            await agent.do(CompleteTurn(agent.id))
            await space.dispatcher.dispatch(KeepLast(agent.id, _IN_VIEW), command_meta())
            offer = await offer_for_calls(space, await space.dispatcher.open(agent.id))
            place = offer.place if offer else ""
            right = str(case.answer) if case.answer else "none"
            score.add(place, right, named=bool(case.answer))
            if place != right and (place or case.answer):
                errors.append(f"    {case.call} got {place or '-'}, not {right}")
    return score, errors


async def _session_score() -> OfferScore:
    score = OfferScore()
    async with sapwood.open(":memory:") as db:
        space = db.connection
        for path in sorted(each for name in _SETS for each in (FOLDER / name).glob("*.jsonl")):
            agent = await db.start(path.stem)
            for number, turn in enumerate(read_session(path).turns, 1):
                typed = [part.text for part in turn.prompt if isinstance(part, Text)]
                text = "\n".join(typed) or "(nothing)"
                opened = await space.dispatcher.open(agent.id)
                offer = await load_offer(space, opened, (Text(text),))
                right = RIGHT_IN_SESSIONS.get((path.stem, number), "none")
                score.add(offer.place if offer else "", right, named=right != "none")
                await agent.record(text, "\n".join(turn.texts()[len(turn.prompt) :]) or "(nothing)")
                await space.dispatcher.dispatch(KeepLast(agent.id, _IN_VIEW), command_meta())
    return score


async def _scores(
    conversations: list[SearchConversation],
) -> tuple[OfferScore, OfferScore, list[str]]:
    ours, first_hit, errors = OfferScore(), OfferScore(), list[str]()
    async with sapwood.open(":memory:") as db:
        space = db.connection
        for each in conversations:
            agent = await db.start(each.name)
            for turn in each.turns:
                await agent.record(turn.prompt, f"{turn.result}\n{turn.reply}".strip())
            await space.dispatcher.dispatch(KeepLast(agent.id, _IN_VIEW), command_meta())
            opened = await space.dispatcher.open(agent.id)
            out_of_view = list(enumerate(each.turns, 1))[:-_IN_VIEW]
            for number, asked in (
                (n, words) for n, turn in out_of_view for words in turn.questions
            ):
                prompt = (Text(asked),)
                offer = await load_offer(space, opened, prompt)
                place = offer.place if offer else ""
                ours.add(place, str(number), named=bool(names_of_prompt(prompt)))
                if place != str(number) and (place or names_of_prompt(prompt)):
                    errors.append(f"    {each.name}, turn {number}: {asked!r} got {place or '-'}")
                hits = await search_turns(space, asked, agents=[agent.id], limit=1, shown=agent.id)
                first_hit.add(hits[0].place if hits else "", str(number))
    return ours, first_hit, errors
