"""A conversation as a whole, wherever it ran: what a transcript or a log tells of it.

The common ground of everything that looks at conversations without running them: whoever reads
transcripts makes these values, whoever reads an own agent's log makes the same ones, and what is
told of them (ledger, topics, archives, handoffs) need not know which it was.
"""

from msgspec import Struct

from sapwood.core.turn import Turn

__all__ = ["Boundary", "Session"]


class Boundary(Struct, frozen=True, omit_defaults=True):
    """A place where the program put a summary in place of what came before.

    `after` is the number of turns that lie before it. Tokens are those of the whole context just
    before and just after, where the program reported them.
    """

    after: int
    trigger: str = ""
    before_tokens: int | None = None
    after_tokens: int | None = None
    summary: str = ""
    at: int = 0


class Session(Struct, frozen=True, omit_defaults=True):
    """A conversation and where it comes from.

    `source` names the program (`claude-code`, `codex`, `gemini`, `sapwood`), `id` is the one that
    program knows it by, and `path` its transcript. `times` says when each turn began, in
    microseconds since 1970. `used` is the size of the context as last reported, `window` its
    limit; both are None while nobody has reported them.
    """

    source: str
    id: str
    folder: str = ""
    path: str = ""
    title: str = ""
    model: str = ""
    turns: tuple[Turn, ...] = ()
    times: tuple[int, ...] = ()
    boundaries: tuple[Boundary, ...] = ()
    used: int | None = None
    window: int | None = None
    updated: int = 0

    @property
    def request(self) -> str:
        """What was asked for first: the text of the first prompt that is a request."""
        return next((_words(turn) for turn in self.turns if turn.is_request), "")

    @property
    def last_request(self) -> str:
        """What was asked for last."""
        return next((_words(turn) for turn in reversed(self.turns) if turn.is_request), "")


def _words(turn: Turn) -> str:
    return "\n".join(part.text for part in turn.prompt if part.text)
