"""The application that a widget is part of, with a type."""

from typing import cast

from textual.app import App
from textual.dom import DOMNode

__all__ = ["host"]


def host(node: DOMNode) -> App[object]:
    """The application. Textual leaves the type of its result open."""
    return cast("App[object]", node.app)  # pyright: ignore[reportUnknownMemberType]
