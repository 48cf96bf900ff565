"""Splits the text of people and models into sentences; skips code, logs, quotes and markup."""

import re
from collections.abc import Iterator

from msgspec import Struct

from sapwood.analysis.language.pasted_text import typed_text
from sapwood.core.content import Text
from sapwood.core.turn import Reply, Turn

_LONG_GAP = re.compile(r"(?<=\S)[ \t]{9,}+|[ \t]{99,}+")
_CODE_BLOCK = re.compile(r"^ *(```|~~~).*?(?:^ *\1 *$|\Z)", re.M | re.S)
_TAGGED = re.compile(r"<([a-z][\w-]*)(?:\s[^<>]*)?>.{0,4000}?</\1>", re.S)
_INLINE_CODE = re.compile(r"`+([^`\n]+)`+")
_LINK = re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)")
_LIST_MARK = re.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)]|#{1,6}|\[[ x]\])\s+")
_QUOTED = re.compile(r"^\s*(?:>|\|)")
_LOG_LINE = re.compile(
    r"^\s*(?:at \S+ ?\(|File \"|thread '|Traceback|\d{4}-\d\d-\d\d[T ]\d|\[?(?:ERROR|INFO|WARN"
    r"|WARNING|DEBUG|TRACE)\]?[: ]|\d+:\s+0x|[{}<>$%]|\s{4,}\S|diff --git|@@ |[+-]{3} )"
)
_SENTENCE_END = re.compile(r"(?<=[.!?…])(?:[\"'”’)\]]*)\s+(?=\S)")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|no|resp|incl|fig|dr|mr|mrs|st)|(?:^|\s)[A-Za-z])\.$", re.I
)
_MAX_LENGTH = 24_000
"""Characters of a text that are examined, half from each end; longer texts are pasted material."""
_EMPHASIS = re.compile(r"\*\*|__|(?<!\w)\*(?=\S)|(?<=\S)\*(?!\w)")


def without_markup(text: str) -> str:
    """Returns a text without code blocks, tagged sections, link targets and emphasis marks."""
    if len(text) > _MAX_LENGTH:
        text = f"{text[: _MAX_LENGTH // 2]}\n{text[-_MAX_LENGTH // 2 :]}"
    text = _LONG_GAP.sub(" ", text)
    text = _CODE_BLOCK.sub("\n", text) if "```" in text or "~~~" in text else text
    text = (_TAGGED.sub(" ", text) if "</" in text else text).replace("’", "'")
    text = _LINK.sub(r"\1", text) if "](" in text else text
    return _EMPHASIS.sub("", text) if "*" in text or "__" in text else text


def sentences(text: str) -> Iterator[str]:
    """Yields the sentences of a text. A list item or a separate line is at least one sentence.

    >>> list(sentences("Done. I'd use `a.py`, e.g. today.\\n\\n- keep it\\n```\\ncode\\n```\\nok?"))
    ['Done.', "I'd use a.py, e.g. today.", 'keep it', 'ok?']
    """
    for line in _lines(without_markup(text)):
        current = ""
        for piece in _SENTENCE_END.split(line):
            current = f"{current} {piece}".strip()
            if not (current.endswith(".") and _ABBREVIATION.search(current)):
                yield current
                current = ""
        if current:
            yield current


def _lines(text: str) -> Iterator[str]:
    """Yields the lines of prose; a line that continues in the next line is joined with it."""
    current = ""
    for raw in text.splitlines():
        if _QUOTED.match(raw) or _LOG_LINE.match(raw):
            continue
        line = _LIST_MARK.sub("", raw).strip()
        line = _INLINE_CODE.sub(r"\1", line).strip() if "`" in line else line
        goes_on = bool(current) and bool(line) and line[0].islower() and not _LIST_MARK.match(raw)
        if goes_on and current[-1] not in ".!?:":
            current = f"{current} {line}"
            continue
        if current:
            yield current
        current = line
    if current:
        yield current


class TurnSentences(Struct, frozen=True):
    """The sentences of a turn; those of the user without what was pasted.

    `closing` is what the model wrote after its last tool call.
    """

    turn: int
    user: tuple[str, ...]
    closing: tuple[str, ...]


def turn_sentences(turn: Turn, number: int) -> TurnSentences:
    """Returns the sentences of a turn that has this number."""
    asked = typed_text("\n".join(part.text for part in turn.prompt if isinstance(part, Text)))
    closing: list[str] = []
    for item in turn.items:
        if isinstance(item, Reply):
            text = "\n\n".join(part.text for part in item.parts if isinstance(part, Text))
            closing = [] if item.calls else [*closing, *sentences(text)]
    return TurnSentences(number, tuple(sentences(asked)), tuple(closing))
