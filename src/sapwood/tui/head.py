"""The line at the top: which project, which conversation, which model."""

from pathlib import Path

from textual.content import Content

from sapwood.core.state import State
from sapwood.display.text import one_line

__all__ = ["head_line"]


def head_line(folder: str, state: State | None) -> Content:
    """The line; an imported conversation says where it comes from."""
    parts: list[tuple[str, str]] = [("sapwood", "bold $primary"), (f"  {Path(folder).name}", "")]
    if state is None:
        parts.append(("  /  a new conversation", "$faint"))
    else:
        parts.append(("  /  ", "$faint"))
        parts.append((one_line(state.name) or state.agent, "bold"))
        model = state.settings.model or "no model"
        parts.append((f"  · {model} · {state.agent} #{state.version:,}", "$faint"))
        if state.origin is not None:
            parts.append((f" · from {state.origin.source}: to read and fork", "$accent"))
    return Content.assemble(*parts)
