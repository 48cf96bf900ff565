"""The text of a pinned file: read under the guards of `read_file`, whole, or not at all."""

from sapwood.core.errors import SapwoodError
from sapwood.core.settings import Workspace
from sapwood.workspace.permissions.guarded_paths import PathGuards
from sapwood.workspace.permissions.permission_decision import FileAction, decide_permission
from sapwood.workspace.permissions.permission_rules import PermissionRules
from sapwood.workspace.safe_paths import ResolvedPath, is_folder, locate, open_file, root_of
from sapwood.workspace.tool_output import ToolError, byte_size
from sapwood.workspace.tools.file_reader import is_binary

PINNED_FILE_BYTES = 200_000
"""The most bytes of a pinned file: it is in every request."""

_PEEK = 8_192


class PinnedFileError(SapwoodError):
    """Why a file is not pinned, as a sentence for a person."""


def read_pinned_file(
    workspace: Workspace,
    path: str,
    rules: PermissionRules = (),
    guards: PathGuards | None = None,
) -> tuple[str, str]:
    """The path from the workspace's folder on, and the text. Raises `PinnedFileError`.

    A file that `read_file` would not read without a question is not read here either.
    """
    try:
        place = locate(root_of(workspace), path)
        _require_readable(place, rules, guards or PathGuards())
        return place.shown, _text(place)
    except ToolError as error:
        raise PinnedFileError(_reason(error)) from error


def _require_readable(place: ResolvedPath, rules: PermissionRules, guards: PathGuards) -> None:
    if not place.is_inside:
        raise PinnedFileError("It is outside the workspace.")
    guard = guards.against_reading(place)
    action = FileAction("read_file", place.shown, True, "read_file", guard)
    decision = decide_permission(action, rules)
    if decision.verdict != "allow":
        raise PinnedFileError(decision.why)


def _text(place: ResolvedPath) -> str:
    if is_folder(place):
        raise PinnedFileError("It is a folder.")
    with open_file(place) as file:
        data = file.read(PINNED_FILE_BYTES + 1)
    if len(data) > PINNED_FILE_BYTES:
        raise PinnedFileError(f"It is larger than {byte_size(PINNED_FILE_BYTES)}.")
    if is_binary(data[:_PEEK]):
        raise PinnedFileError("It is not text.")
    text = data.decode("utf-8", "replace").removeprefix("\N{BYTE ORDER MARK}")
    if not text.strip():
        raise PinnedFileError("It is empty.")
    return text.replace("\r\n", "\n")


def _reason(error: ToolError) -> str:
    """What went wrong, without the advice that is meant for models."""
    match error.__cause__:
        case FileNotFoundError():
            return "There is no such file."
        case OSError(strerror=str(why)):
            return f"{why}."
        case _:
            return str(error).removesuffix(" Tell the user.")
