"""The tokens that a long session with many tools sends, if its model drops what it does not need.

The same scripted session twice: without the offer, and with `offer_drops`, where the model drops
the results that the offer names. The last two turns always have their results. Counts every request
of the session; `new` are the tokens after the first part that differs from the request before,
which a provider cannot read from its cache.
"""

import argparse
import re

from msgspec import Struct

from bench.kept_figures import figure
from sapwood.core.commands import AddReply, CompleteTurn, Drop, FinishTool, StartTurn
from sapwood.core.content import Text, ToolCall
from sapwood.core.decide import Accepted
from sapwood.core.events import Actor
from sapwood.core.ids import AgentId
from sapwood.core.settings import Settings
from sapwood.core.turn_numbers import parse_place
from sapwood.core.view import Request
from sapwood.core.view.request import ToolResult
from sapwood.testing import CoreHarness
from sapwood.tokens.counters import counter_for

LIMIT = 0.6
"""With drops, a session of this kind sends at most this share of the tokens."""

OFFER = 10_000
_CALLS, _LINES = 3, 120
_OFFERED = re.compile(r"for example: drop --results ([0-9 -]+)\.")
_MODEL = Actor("model", "scripted")


class Sent(Struct):
    """The tokens of all requests of a session, and of what no request before began with."""

    tokens: int = 0
    new: int = 0
    requests: int = 0
    drops: int = 0


class Session:
    """A scripted session, and what its requests had."""

    def __init__(self, offer: int) -> None:
        self.world = CoreHarness()
        settings = Settings("claude-sonnet", cap=0, offer_drops=offer)
        self.agent: AgentId = self.world.start(settings=settings)
        self.sent = Sent()
        self._counter = counter_for("claude-sonnet")
        self._before: list[object] = []

    def turn(self, number: int) -> None:
        """A turn that calls tools, and drops what an offer names."""
        self._do(StartTurn(self.agent, (Text(f"Look at part {number} and compare it."),)))
        offered = self._offered()
        if offered:
            self._do(AddReply(self.agent, (ToolCall(f"d{number}", "slash", "{}"),)))
            places = [parse_place(each) for each in offered.split()]
            self._do(Drop(self.agent, tuple([p for p in places if p]), True), _MODEL)
            self._do(FinishTool(self.agent, f"d{number}", "Later."))
            self.sent.drops += 1
        for call in range(_CALLS):
            self._send()
            name = f"c{number}-{call}"
            self._do(AddReply(self.agent, (ToolCall(name, "read", f'{{"part": {number}}}'),)))
            lines = [f"{line}: value {number * line} of part {number}" for line in range(_LINES)]
            self._do(FinishTool(self.agent, name, "\n".join(lines)))
        self._send()
        self._do(AddReply(self.agent, (Text(f"Part {number} is as expected."),)))
        self._do(CompleteTurn(self.agent))

    def _do(self, command: object, actor: Actor | None = None) -> None:
        done = self.world.do(command, actor) if actor else self.world.do(command)  # pyright: ignore[reportArgumentType]
        if not isinstance(done, Accepted):
            raise RuntimeError(done.sentence)

    def _offered(self) -> str:
        turn = self.world.lives[self.agent].open
        texts = [part.text for part in turn.prompt] if turn else []
        found = _OFFERED.search("\n".join(texts))
        return found[1] if found else ""

    def _send(self) -> None:
        request: Request = self.world.request(self.agent)
        parts: list[object] = [part for _, part in request.flat()]
        same = 0
        for mine, its in zip(self._before, parts, strict=False):
            if mine != its:
                break
            same += 1
        sizes = [self._size(part) for part in parts]
        self.sent.tokens += sum(sizes)
        self.sent.new += sum(sizes[same:])
        self.sent.requests += 1
        self._before = parts

    def _size(self, part: object) -> int:
        match part:
            case ToolResult(content=text) | ToolCall(args=text):
                return self._counter.count(text).tokens
            case _:
                return self._counter.count(getattr(part, "text", "")).tokens


def main(argv: list[str]) -> int:
    """Prints the tokens with and without drops; returns 1 if drops save too little."""
    parser = argparse.ArgumentParser(prog="python -m bench drops", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20 turns")
    options = parser.parse_args(argv)
    turns = 20 if options.quick else 60
    found: list[Sent] = []
    for offer in (0, OFFER):
        session = Session(offer)
        for number in range(1, turns + 1):
            session.turn(number)
        sent = session.sent
        found.append(sent)
        how = f"with drops ({sent.drops})" if offer else "without drops"
        print(
            f"  {how}: {sent.requests} requests, {sent.tokens:,} tokens, {sent.new:,} of them new"
        )
    without, with_drops = found
    share, new = with_drops.tokens / without.tokens, with_drops.new / without.new
    figure("drops: tokens sent", share)
    figure("drops: tokens not cached", new)
    print(
        f"drops: {turns} turns send {share:.0%} of the tokens, and {new:.2f}x of what is not "
        f"cached (limit {LIMIT:.0%})"
    )
    return 0 if share <= LIMIT else 1
