"""A session: a whole conversation of any program, and the archive of a topic.

Readers of transcripts and of Sapwood's own log both create these values. Analysis takes them as
input, and does not depend on the program that ran the conversation.
"""

import re

from msgspec import Struct

from sapwood.core.content import Text
from sapwood.core.turn import Turn

_FOR_SAPWOOD = re.compile(
    r"\s*(?:/sapwood:|/mcp__\w*sapwood|Call the (?:MCP )?tool `\w+` of the server `sapwood`)"
)
"""Commands of the plugin and prompts of the MCP server: they ask Sapwood, not the agent."""


_UNREADABLE = "[The program's summary is encrypted. What the log shows instead is below.]"


class Boundary(Struct, frozen=True, omit_defaults=True):
    """A compaction: the program replaced earlier turns by a summary. Or a change of the history.

    `after` is the number of turns before it; the last `kept` of them stayed in view unchanged.
    `quoted` are messages that stayed without the rest of their turn. `before_tokens` and
    `after_tokens` are the sizes of the whole context, if the program reported them. `summary` is
    empty if the program encrypts it, or if there is none because whole turns were cut out. Then
    `turns` are the indexes of the turns that stayed, each of which follows the one before it;
    `cleared` is true if none of them stayed. `is_change` is true if the program did not compact:
    Sapwood changed the history, or somebody went back in it. Then `listed` are the indexes of all
    whole turns that are in view, also if there are gaps between them. `is_partial` is true if it
    names rows that were not read, because only the end of a transcript was.
    """

    after: int
    trigger: str = ""
    before_tokens: int | None = None
    after_tokens: int | None = None
    summary: str = ""
    at: int = 0
    kept: int = 0
    quoted: str = ""
    turns: tuple[int, ...] = ()
    cleared: bool = False
    is_change: bool = False
    listed: tuple[int, ...] = ()
    is_partial: bool = False

    @property
    def is_compaction(self) -> bool:
        """Whether the program summarized: not a clear, a drop or a rewind that was asked for.

        >>> (
        ...     Boundary(3, summary="It is cold.").is_compaction,
        ...     Boundary(3, cleared=True).is_compaction,
        ... )
        (True, False)
        """
        return not self.is_change and bool(self.summary or not (self.turns or self.cleared))

    @property
    def text(self) -> str:
        """The text that stands for the turns: the summary, and the messages that stayed.

        >>> Boundary(3, summary="It is cold.").text
        'It is cold.'
        """
        summary = self.summary or _UNREADABLE
        if not self.quoted:
            return summary
        return f"{summary}\n\n[Messages from before, kept as they were]\n{self.quoted}"


class Session(Struct, frozen=True, omit_defaults=True):
    """A conversation and its origin.

    `source` names the program (`claude-code`, `codex`, `gemini`, `sapwood`), `id` is its own id of
    the session, `path` the transcript. `times` are the starts of the turns, in microseconds since
    1970. `used` is the last reported size of the context and `window` its limit; both are None if
    the program did not report them. `abandoned` are the indexes of turns that a rewind left on a
    side branch. `first_request` is set if only the end of a long transcript was read. `parent` is
    the id of the session that started this one as a subagent. `shown_files` are files that the
    program showed to the model by itself, each with the number of turns before it.
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
    abandoned: tuple[int, ...] = ()
    first_request: str = ""
    parent: str = ""
    shown_files: tuple[tuple[int, str], ...] = ()

    @property
    def numbers(self) -> tuple[int, ...]:
        """The number of each turn in this conversation; 0 for turns that a fork inherited."""
        own = self.id if self.source == "sapwood" else ""
        return tuple(
            0 if own and turn.agent != own else turn.number or place
            for place, turn in enumerate(self.turns, 1)
        )

    def numbered(self, *wanted: int) -> tuple[Turn, ...]:
        """Returns the turns that have one of these numbers."""
        pairs = zip(self.numbers, self.turns, strict=True)
        return tuple(turn for number, turn in pairs if number in wanted)

    @property
    def live(self) -> tuple[tuple[int, Turn], ...]:
        """The turns that no rewind left behind, each with its number."""
        abandoned = set(self.abandoned)
        pairs = enumerate(zip(self.numbers, self.turns, strict=True))
        return tuple(pair for index, pair in pairs if index not in abandoned)

    @property
    def in_view(self) -> tuple[Turn, ...]:
        """The turns that the model of the program sees unchanged."""
        return tuple(self.turns[index] for index in self.indexes_in_view)

    @property
    def indexes_in_view(self) -> tuple[int, ...]:
        """The indexes of the turns in view."""
        boundary = self.boundaries[-1] if self.boundaries else Boundary(0)
        abandoned = set(self.abandoned)
        indexes = [index for index in range(len(self.turns)) if index not in abandoned]
        before = [index for index in indexes if index < boundary.after]
        kept = before[len(before) - min(boundary.kept, len(before)) :]
        return (*(sorted(boundary.listed) or kept), *indexes[len(before) :])

    @property
    def compactions(self) -> tuple[Boundary, ...]:
        """The boundaries at which the program compacted."""
        return tuple(each for each in self.boundaries if each.is_compaction)

    @property
    def request(self) -> str:
        """The text of the first prompt that is a request."""
        return self.first_request or next(
            (text for _, turn in self.live if (text := request_text(turn))), ""
        )

    @property
    def last_request(self) -> str:
        """The text of the last prompt that is a request."""
        return next((text for _, turn in reversed(self.live) if (text := request_text(turn))), "")


def request_text(turn: Turn) -> str:
    """What the user asked the agent for; empty if the prompt has no request, or one to Sapwood."""
    text = "\n".join(part.text for part in turn.prompt if isinstance(part, Text))
    return "" if _FOR_SAPWOOD.match(text) else text


class TopicArchive(Struct, frozen=True):
    """The content of a file under `archives/`. `archived` is a time in ISO format."""

    topic: str
    archived: str = ""
    session: str = ""
    project: str = ""
    decisions: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    excerpt: str = ""
