"""The fenced blocks of the pages, as tests, proofs and the site read them."""

import re
from pathlib import Path
from typing import NamedTuple

FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
"""A fenced block with its fences."""
_BLOCK = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """One fenced block of a page."""

    language: str
    remark: str
    body: str
    line: int


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(found[1], found[2].strip(), found[3], text[: found.start()].count("\n") + 2)
        for found in _BLOCK.finditer(text)
    ]


def without_remarks(text: str) -> str:
    """A page whose blocks name only their language, as generators of sites expect."""
    return _BLOCK.sub(lambda found: f"```{found[1]}\n{found[3]}```", text)
