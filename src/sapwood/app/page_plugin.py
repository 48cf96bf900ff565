"""Pages that plug-ins add, by entry points of the group `sapwood.pages`.

A page is a document that shows one conversation. `sapwood export --format NAME` writes it.
"""

from typing import Protocol, cast

from sapwood.conversation.call import OpenSpace
from sapwood.core.errors import SapwoodError
from sapwood.core.ids import AgentId
from sapwood.plugins import load_plugin, plugin_names


class Page(Protocol):
    """What the entry point of a page names."""

    async def __call__(self, space: OpenSpace, agent: AgentId, *, everything: bool) -> str:
        """Returns the document; with `everything`, also with turns that left view."""
        ...


def load_page(name: str) -> Page:
    """Returns the page with this name. Raises `SapwoodError` if there is none."""
    found = load_plugin("pages", name)
    if found is None:
        known = ", ".join(["markdown", "text", "json", *plugin_names("pages")])
        raise SapwoodError(f"There is no format '{name}'. Choose one of: {known}")
    return cast("Page", found)
