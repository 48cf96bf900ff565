"""`write_file`: a file's whole content."""

from collections.abc import Sequence

from sapwood.workspace.bounds import size
from sapwood.workspace.errors import ToolError
from sapwood.workspace.places import Place
from sapwood.workspace.tools.changing import diff, read_text, require_no_mask
from sapwood.workspace.tools.replacing import replace_file

__all__ = ["preview_write", "write_file"]


def write_file(place: Place, content: str, known: Sequence[str]) -> str:
    """Writes exactly this content, over what was there. `known` are secrets."""
    try:
        data = content.encode()
    except UnicodeEncodeError as error:
        raise ToolError("The content holds half of a character pair. Send it again.") from error
    require_no_mask(place, content, _present(place), known)
    was_there = replace_file(place, data)
    lines = content.count("\n") + (not content.endswith("\n") and bool(content))
    done = "Replaced" if was_there else "Created"
    return f"{done} {place.shown}: {lines:,} line{'' if lines == 1 else 's'}, {size(len(data))}."


def preview_write(place: Place, content: str) -> str:
    """What writing would change, as a diff."""
    return diff(place, _present(place), content)


def _present(place: Place) -> str:
    """The text that is there; none if there is nothing, or nothing that could be compared."""
    try:
        return read_text(place)[0]
    except ToolError:
        return ""
