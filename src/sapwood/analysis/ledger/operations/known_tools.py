"""The tools of Claude Code, Codex, Gemini CLI, Sapwood and others, and what their calls do.

A tool is recognized by its name without case, prefix and underscores, an argument by any of the
names that these programs use.
"""

import re
from collections.abc import Callable, Iterator
from typing import cast

import msgspec
from msgspec import structs

from sapwood.analysis.ledger.operations.call_outcomes import CallOutcome
from sapwood.analysis.ledger.operations.inline_edits import patch_operations
from sapwood.analysis.ledger.operations.operation import (
    BackgroundPolled,
    CommandLineRan,
    FileDeleted,
    FileEdited,
    FileMoved,
    FileRead,
    FileWritten,
    Operation,
)
from sapwood.core.content import ToolCall

Args = dict[str, object]

_PATHS = ("file_path", "absolute_path", "path", "filePath", "notebook_path", "filename", "file")
_FOLDERS = ("workdir", "cwd", "directory", "dir_path", "working_directory")
_NUMBERED = re.compile(r"^ *\d+(?:\t|→|: |\| )", re.M)
_CREATED_REPLY = re.compile(
    r"created successfully|wrote to new file|^Created |File created|\bcreated new file", re.I
)
_OVERWRITTEN_REPLY = re.compile(r"has been updated|overwrote|^Replaced |successfully updated", re.I)
_PREFIX = re.compile(r"^(?:mcp__.+?__|functions\.|container\.|default_api[.:])")


def operations_of(call: ToolCall, outcome: CallOutcome) -> tuple[Operation, ...]:
    """Returns what a call did. A call that failed or was refused changed no file."""
    name = re.sub(r"[_\-. ]", "", _PREFIX.sub("", call.name)).lower()
    args = _decoded(call.args)
    if name in _SHELLS:
        return tuple(_ran(args, keeps_folder=call.name == _KEEPS_FOLDER))
    operation = _TOOLS.get(name)
    if (
        operation is None
        or outcome.refused
        or (outcome.status == "failed" and operation is not _polls)
    ):
        return ()
    if operation is _patch:
        return _patch(args, call.args)
    return tuple(_counted(each, outcome.lines) for each in operation(args, outcome.output))


def _counted(operation: Operation, lines: tuple[int, int] | None) -> Operation:
    """Returns the operation with the line counts that the program reported."""
    if lines is None or not isinstance(operation, FileEdited | FileWritten):
        return operation
    return structs.replace(operation, added=lines[0], removed=lines[1])


def _decoded(text: str) -> Args:
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except msgspec.MsgspecError:
        return {}


def _text(args: Args, *names: str) -> str:
    values = (args.get(name) for name in names)
    return next((value for value in values if isinstance(value, str) and value), "")


def _texts(value: object) -> list[str]:
    if not isinstance(value, list):
        return []
    return [each for each in cast("list[object]", value) if isinstance(each, str)]


def _objects(value: object) -> list[Args]:
    if not isinstance(value, list):
        return []
    return [cast("Args", each) for each in cast("list[object]", value) if isinstance(each, dict)]


def _ran(args: Args, *, keeps_folder: bool) -> Iterator[Operation]:
    action = args.get("action")
    if isinstance(action, dict):
        args = {**args, **cast("Args", action)}
    folder = _text(args, *_FOLDERS)
    words = _texts(args.get("command")) or _texts(args.get("cmd"))
    if words[:1] in (["apply_patch"], ["applypatch"]) and len(words) > 1:
        yield from patch_operations(words[1], folder)
    elif command := _command(words) or _text(args, "command", "cmd", "script"):
        yield CommandLineRan(command, folder, keeps_folder)


def _command(words: list[str]) -> str:
    """Returns the command line of a list of words: the script of a shell, or the quoted words."""
    if len(words) == 3 and words[0].rsplit("/", 1)[-1] in ("bash", "sh", "zsh"):
        return words[2]
    return " ".join(
        word if re.fullmatch(r"[\w@%+=:,./-]+", word) else _quoted(word) for word in words
    )


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def _reads(args: Args, output: str) -> Iterator[Operation]:
    path = _text(args, *_PATHS)
    whole = not any(args.get(name) for name in ("offset", "limit", "view_range", "pages"))
    if path:
        yield FileRead(path, _without_line_numbers(output) if whole else None)
    for each in _texts(args.get("paths")) + _texts(args.get("include")):
        if not set("*?[") & set(each):
            yield FileRead(each)


def _without_line_numbers(output: str) -> str | None:
    """Returns the content of a file from its numbered lines; None if they are not numbered."""
    shown = output.removesuffix("\n")
    bare, numbered = _NUMBERED.subn("", shown)
    return f"{bare}\n" if shown and numbered == shown.count("\n") + 1 else None


def _writes(args: Args, output: str) -> Iterator[Operation]:
    path = _text(args, *_PATHS)
    existed = True if _OVERWRITTEN_REPLY.search(output[:300]) else None
    if existed is None and _CREATED_REPLY.search(output[:300]):
        existed = False
    if path:
        content = args.get("content", args.get("file_text", args.get("contents")))
        yield FileWritten(path, content if isinstance(content, str) else None, existed)


def _edits(args: Args, output: str) -> Iterator[Operation]:
    path = _text(args, *_PATHS)
    if not path:
        return
    pairs = tuple(_pair(each) for each in _objects(args.get("edits")) or [args])
    if pairs == (("", ""),):
        yield FileEdited(path)
    elif len(pairs) == 1 and not pairs[0][0] and _CREATED_REPLY.search(output[:300]):
        yield FileWritten(path, pairs[0][1], False)
    else:
        yield FileEdited(path, pairs)


def _pair(args: Args) -> tuple[str, str]:
    old = _text(args, "old_string", "old_text", "oldString", "old_str", "oldText")
    new = _text(args, "new_string", "new_text", "newString", "new_str", "newText", "insert_text")
    return old, new


def _notebook(args: Args, output: str) -> Iterator[Operation]:
    if path := _text(args, *_PATHS):
        lines = len(_text(args, "new_source").splitlines())
        yield FileEdited(
            path, added=lines, removed=None if args.get("edit_mode") != "insert" else 0
        )


def _editor(args: Args, output: str) -> Iterator[Operation]:
    """The text editor tool of Anthropic, with several commands."""
    match _text(args, "command"):
        case "view":
            yield from _reads(args, "")
        case "create":
            yield from _writes(args, output)
        case "str_replace" | "insert":
            yield from _edits(args, output)
        case _:
            pass


def _deletes(args: Args, output: str) -> Iterator[Operation]:
    if path := _text(args, *_PATHS):
        yield FileDeleted(path, bool(args.get("recursive")))


def _moves(args: Args, output: str) -> Iterator[Operation]:
    source, target = _text(args, "source", "from"), _text(args, "destination", "target", "to")
    if source and target:
        yield FileMoved(source, target)


def _polls(args: Args, output: str) -> Iterator[Operation]:
    handles = (args.get(name) for name in ("bash_id", "task_id", "shell_id", "session_id"))
    if handle := next((str(value) for value in handles if value is not None), ""):
        yield BackgroundPolled(handle)


def _patch(args: Args, text: str) -> tuple[Operation, ...]:
    patch = _text(args, "input", "patch", "patchText", "diff") or text
    return patch_operations(patch, _text(args, *_FOLDERS))


# The shell of Claude Code. Codex, Gemini CLI and Sapwood start each line in the given folder.
_KEEPS_FOLDER = "Bash"
_SHELLS = frozenset(
    "bash shell shellcommand execcommand exec localshell localshellcall runshellcommand runcommand "
    "runterminalcmd executecommand terminal runinterminal unifiedexec".split()
)
_TOOLS: dict[str, Callable[[Args, str], Iterator[Operation] | tuple[Operation, ...]]] = {
    **dict.fromkeys("read readfile view viewfile notebookread openfile viewimage".split(), _reads),
    **dict.fromkeys("readmanyfiles readtextfile readmultiplefiles".split(), _reads),
    **dict.fromkeys("write writefile createfile savefile".split(), _writes),
    **dict.fromkeys("edit editfile multiedit replace searchreplace strreplace".split(), _edits),
    **dict.fromkeys("strreplacebasededittool strreplaceeditor texteditor".split(), _editor),
    **dict.fromkeys("bashoutput taskoutput writestdin getterminaloutput".split(), _polls),
    **dict.fromkeys("deletefile removefile delete".split(), _deletes),
    **dict.fromkeys("movefile renamefile".split(), _moves),
    **dict.fromkeys("applypatch patch applydiff".split(), _patch),
    "notebookedit": _notebook,
}
