"""Sentences out of what people and models write: markdown, lists, code and logs between them."""

import re
from collections.abc import Iterator

__all__ = ["plain", "sentences"]

_FENCE = re.compile(r"^ *(```|~~~).*?(?:^ *\1 *$|\Z)", re.M | re.S)
_TAGGED = re.compile(r"<([a-z][\w-]*)(?:\s[^<>]*)?>.{0,4000}?</\1>", re.S)
_CODE = re.compile(r"`+([^`\n]+)`+")
_LINK = re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)")
_MARKED = re.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)]|#{1,6}|\[[ x]\])\s+")
_QUOTED = re.compile(r"^\s*(?:>|\|)")
_MACHINE = re.compile(
    r"^\s*(?:at \S+ ?\(|File \"|thread '|Traceback|\d{4}-\d\d-\d\d[T ]\d|\[?(?:ERROR|INFO|WARN"
    r"|WARNING|DEBUG|TRACE)\]?[: ]|\d+:\s+0x|[{}<>$%]|\s{4,}\S|diff --git|@@ |[+-]{3} )"
)
_END = re.compile(r"(?<=[.!?…])(?:[\"'”’)\]]*)\s+(?=\S)")
_SHORT = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|no|resp|incl|fig|dr|mr|mrs|st)|(?:^|\s)[A-Za-z])\.$", re.I
)
_LONGEST = 24_000
"""Characters that are looked at, from both ends: what is longer was pasted, not said."""
_EMPHASIS = re.compile(r"\*\*|__|(?<!\w)\*(?=\S)|(?<=\S)\*(?!\w)")


def plain(text: str) -> str:
    """A text without code blocks, what programs put into tags, and marks of emphasis."""
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]}\n{text[-_LONGEST // 2 :]}"
    text = _FENCE.sub("\n", text) if "```" in text or "~~~" in text else text
    text = (_TAGGED.sub(" ", text) if "</" in text else text).replace("’", "'")
    text = _LINK.sub(r"\1", text) if "](" in text else text
    return _EMPHASIS.sub("", text) if "*" in text or "__" in text else text


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text. Each item of a list and each line of its own is at least one.

    >>> list(sentences("Done. I'd use `a.py`, e.g. today.\\n\\n- keep it\\n```\\ncode\\n```\\nok?"))
    ['Done.', "I'd use a.py, e.g. today.", 'keep it', 'ok?']
    """
    for line in _lines(plain(text)):
        begun = ""
        for piece in _END.split(line):
            begun = f"{begun} {piece}".strip()
            if not (begun.endswith(".") and _SHORT.search(begun)):
                yield begun
                begun = ""
        if begun:
            yield begun


def _lines(text: str) -> Iterator[str]:
    """Lines of prose; a line that goes on in the next is joined with it."""
    begun = ""
    for raw in text.splitlines():
        if _QUOTED.match(raw) or _MACHINE.match(raw):
            continue
        line = _MARKED.sub("", raw).strip()
        line = _CODE.sub(r"\1", line).strip() if "`" in line else line
        goes_on = bool(begun) and bool(line) and line[0].islower() and not _MARKED.match(raw)
        if goes_on and begun[-1] not in ".!?:":
            begun = f"{begun} {line}"
            continue
        if begun:
            yield begun
        begun = line
    if begun:
        yield begun
