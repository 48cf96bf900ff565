"""The eval of offers: how often the turn that is offered is the one that answers the prompt.

The questions of the eval of search are the prompts: each is sent at the end of its conversation, of
which only the last turns are in view. Most of them name no file, error or identifier and must get
no offer. For comparison, the first hit of a search for the whole prompt is offered every time.
"""

import asyncio

from msgspec import Struct

import sapwood
from evals.search.questions import HALVES, SearchConversation, read_half
from sapwood.conversation.load_offers import load_offer, names_of_prompt
from sapwood.conversation.turn_search import search_turns
from sapwood.core.commands import KeepLast
from sapwood.core.content import Text
from sapwood.turns.clock_and_ids import command_meta

LIMIT = 0.9
"""The least precision. There is no limit for recall: an offer that is not made costs a search."""
_IN_VIEW = 3


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
        for name, score in (("offers", ours), ("the first hit of a search", first_hit)):
            print(
                f"{half}, {name:<26} precision {score.precision:.2f}: {score.right} right, "
                f"{score.wrong} wrong, {score.missed} not made, {score.prompts} prompts"
            )
        if "--misses" in argv and half == "tuned":
            print("\n".join(wrong))
        is_short |= ours.precision < LIMIT
    print(f"limit: precision {LIMIT} in each half")
    return int(is_short)


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
