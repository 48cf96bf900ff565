"""Where an imported conversation comes from, and how to go on with it there."""

from collections.abc import Iterator

import click

from sapwood.core.state import State
from sapwood.display.text import one_line
from sapwood.sources.resuming import resume_of

__all__ = ["origin_lines"]


def origin_lines(state: State) -> Iterator[str]:
    """A line or two for an imported agent, none for any other."""
    origin = state.origin
    if origin is None:
        return
    yield click.style(f"Imported from {origin.source}: {one_line(origin.path)}", dim=True)
    if state.parent is None and (command := resume_of(origin.source, origin.session)):
        yield click.style(f"To go on with it there, type: {one_line(command)}", dim=True)
    yield ""
