"""What writing and editing share: the text as it is, what would change, and masks kept out."""

from collections.abc import Sequence
from difflib import unified_diff

from sapwood.core.secrets import find_masks, mask_secrets
from sapwood.workspace.bounds import MOST, cut, size
from sapwood.workspace.errors import ToolError
from sapwood.workspace.places import Place, open_file
from sapwood.workspace.tools.reading import is_binary
from sapwood.workspace.tools.replacing import Seen, see_file

__all__ = ["diff", "read_text", "require_no_mask"]

_SHOWN = 4_000
_COMPARED = 400_000
"""Characters up to which texts are compared line by line: it takes time as the square of them."""


def read_text(place: Place) -> tuple[str, Seen]:
    """The text of a file, and the state it is in. Raises `ToolError` if it is none."""
    with open_file(place) as file:
        data = file.read(MOST + 1)
        if len(data) > MOST:
            raise ToolError(f"{place.shown} is larger than {size(MOST)}. Edit it with the shell.")
        if is_binary(data[:8_192]):
            raise ToolError(f"{place.shown} is not text.")
        try:
            return data.decode(), see_file(file.fileno())
        except UnicodeDecodeError as error:
            raise ToolError(f"{place.shown} is not UTF-8. Edit it with the shell.") from error


def diff(place: Place, before: str, after: str) -> str:
    """What changes, for the person who is asked."""
    path = place.shown
    if len(before) + len(after) > _COMPARED:
        return f"{path}: from {before.count(chr(10)):,} to {after.count(chr(10)):,} lines"
    lines = unified_diff(before.splitlines(), after.splitlines(), path, path, lineterm="", n=2)
    return cut("\n".join(lines), _SHOWN)


def require_no_mask(place: Place, written: str, text: str, known: Sequence[str]) -> None:
    """Refuses the mask of a secret that is in the file: it would take the secret's place."""
    masks = [mask for mask in find_masks(written) if mask not in text]
    if masks and any(mask in mask_secrets(text, known) for mask in masks):
        raise ToolError(
            f"{masks[0]} stands for a secret in {place.shown}, which you cannot see and must not "
            "overwrite. Nothing was changed. Edit the lines around it."
        )
