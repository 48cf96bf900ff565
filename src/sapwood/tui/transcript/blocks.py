"""Markdown cut into blocks that are drawn apart: a growing answer costs only its last. Pure."""

import re

__all__ = ["blocks_of"]

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_GOES_ON = re.compile(r"\s|[-*+] |\d{1,9}[.)] |>")
"""A line that may belong to what stands above it: indented, or an item of the same list."""


def blocks_of(text: str) -> list[str]:
    """The blocks of a text, cut at blank lines outside of fences and lists.

    >>> blocks_of("One.\\n\\n- a\\n\\n- b\\n\\nTwo.")
    ['One.', '- a\\n\\n- b', 'Two.']
    >>> blocks_of("| a |\\n|---|\\n\\n1. one")
    ['| a |\\n|---|', '1. one']
    >>> blocks_of("```\\na\\n\\nb\\n```\\nafter")
    ['```\\na\\n\\nb\\n```', 'after']
    """
    blocks: list[str] = []
    held: list[str] = []
    fence, blank = "", False
    for line in text.split("\n"):
        found = _FENCE.match(line)
        opens = found is not None and not fence
        if held and not fence and (opens or (blank and line and not _continues(held, line))):
            _close(held, blocks)
        held.append(line)
        blank = not fence and not line.strip()
        if found is not None:
            if not fence:
                fence = found[1]
            elif found[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
                _close(held, blocks)
    _close(held, blocks)
    return blocks


def _continues(held: list[str], line: str) -> bool:
    first = next((each for each in held if each.strip()), "")
    return bool(_GOES_ON.match(line)) and bool(_GOES_ON.match(first))


def _close(held: list[str], blocks: list[str]) -> None:
    block = "\n".join(held).strip("\n")
    held.clear()
    if block.strip():
        blocks.append(block)
