"""What a search found."""

from collections.abc import Sequence

import click

from sapwood.core.log import Hit
from sapwood.display.text import wrapped
from sapwood.display.times import clock

__all__ = ["hit_lines"]


def hit_lines(hits: Sequence[Hit], width: int) -> list[str]:
    """Each hit: where it stands, and the words around it."""
    lines: list[str] = []
    for hit in hits:
        place = click.style(str(hit.ref), fg="cyan")
        lines.append(f"{place} {click.style(clock(hit.at), dim=True)}")
        lines += wrapped(" ".join(hit.snippet.split()), width, "  ")
    return lines or ["Nothing was found."]
