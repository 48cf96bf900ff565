"""Which tool of which program does what: Claude Code, Codex, Gemini CLI, Sapwood and their like.

Tools are known by their names without case, prefix and underscores; arguments by the names that
any of the programs gives them.
"""

import re
from collections.abc import Callable, Iterator
from typing import cast

import msgspec
from msgspec import structs

from sapwood.core.content import ToolCall
from sapwood.core.ledger.acts.act import Act, Deleted, Edited, Moved, Polled, Ran, Read, Wrote
from sapwood.core.ledger.acts.outcomes import Ended
from sapwood.core.ledger.acts.patches import patched

__all__ = ["acts_of"]

Args = dict[str, object]

_PATHS = ("file_path", "absolute_path", "path", "filePath", "notebook_path", "filename", "file")
_FOLDERS = ("workdir", "cwd", "directory", "dir_path", "working_directory")
_NUMBERED = re.compile(r"^ *\d+(?:\t|→|: |\| )", re.M)
_WRITTEN_ANEW = re.compile(
    r"created successfully|wrote to new file|^Created |File created|\bcreated new file", re.I
)
_WRITTEN_OVER = re.compile(r"has been updated|overwrote|^Replaced |successfully updated", re.I)
_PREFIX = re.compile(r"^(?:mcp__.+?__|functions\.|container\.|default_api[.:])")


def acts_of(call: ToolCall, how: Ended) -> tuple[Act, ...]:
    """What a call did, given how it ended. A call that failed changed no file."""
    name = re.sub(r"[_\-. ]", "", _PREFIX.sub("", call.name)).lower()
    args = _decoded(call.args)
    if name in _SHELLS:
        return tuple(_ran(args, keeps=call.name == _KEEPS_ITS_FOLDER))
    act = _TOOLS.get(name)
    if act is None or how.refused or (how.outcome == "failed" and act is not _polls):
        return ()
    if act is _patch:
        return _patch(args, call.args)
    return tuple(_counted(each, how.lines) for each in act(args, how.output))


def _counted(act: Act, lines: tuple[int, int] | None) -> Act:
    """The act with the lines that the program itself counted."""
    if lines is None or not isinstance(act, Edited | Wrote):
        return act
    return structs.replace(act, added=lines[0], removed=lines[1])


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


def _ran(args: Args, *, keeps: bool) -> Iterator[Act]:
    action = args.get("action")
    if isinstance(action, dict):
        args = {**args, **cast("Args", action)}
    folder = _text(args, *_FOLDERS)
    words = _texts(args.get("command")) or _texts(args.get("cmd"))
    if words[:1] in (["apply_patch"], ["applypatch"]) and len(words) > 1:
        yield from patched(words[1], folder)
    elif command := _command(words) or _text(args, "command", "cmd", "script"):
        yield Ran(command, folder, keeps)


def _command(words: list[str]) -> str:
    """What a list of words runs: the script of a shell, or the words as one would type them."""
    if len(words) == 3 and words[0].rsplit("/", 1)[-1] in ("bash", "sh", "zsh"):
        return words[2]
    return " ".join(
        word if re.fullmatch(r"[\w@%+=:,./-]+", word) else _quoted(word) for word in words
    )


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def _reads(args: Args, output: str) -> Iterator[Act]:
    path = _text(args, *_PATHS)
    whole = not any(args.get(name) for name in ("offset", "limit", "view_range", "pages"))
    if path:
        yield Read(path, _unnumbered(output) if whole else None)
    for each in _texts(args.get("paths")) + _texts(args.get("include")):
        if not set("*?[") & set(each):
            yield Read(each)


def _unnumbered(output: str) -> str | None:
    """A file as it stands, from the numbered lines that a reader shows; None if it shows none."""
    shown = output.removesuffix("\n")
    bare, numbered = _NUMBERED.subn("", shown)
    return f"{bare}\n" if shown and numbered == shown.count("\n") + 1 else None


def _writes(args: Args, output: str) -> Iterator[Act]:
    path = _text(args, *_PATHS)
    was_there = True if _WRITTEN_OVER.search(output[:300]) else None
    if was_there is None and _WRITTEN_ANEW.search(output[:300]):
        was_there = False
    if path:
        content = args.get("content", args.get("file_text", args.get("contents")))
        yield Wrote(path, content if isinstance(content, str) else None, was_there)


def _edits(args: Args, output: str) -> Iterator[Act]:
    path = _text(args, *_PATHS)
    if not path:
        return
    pairs = tuple(_pair(each) for each in _objects(args.get("edits")) or [args])
    if pairs == (("", ""),):
        yield Edited(path)
    elif len(pairs) == 1 and not pairs[0][0] and _WRITTEN_ANEW.search(output[:300]):
        yield Wrote(path, pairs[0][1], False)
    else:
        yield Edited(path, pairs)


def _pair(args: Args) -> tuple[str, str]:
    old = _text(args, "old_string", "old_text", "oldString", "old_str", "oldText")
    new = _text(args, "new_string", "new_text", "newString", "new_str", "newText", "insert_text")
    return old, new


def _notebook(args: Args, output: str) -> Iterator[Act]:
    if path := _text(args, *_PATHS):
        lines = len(_text(args, "new_source").splitlines())
        yield Edited(path, added=lines, removed=None if args.get("edit_mode") != "insert" else 0)


def _editor(args: Args, output: str) -> Iterator[Act]:
    """The tool of many verbs that Anthropic's own models know."""
    match _text(args, "command"):
        case "view":
            yield from _reads(args, "")
        case "create":
            yield from _writes(args, output)
        case "str_replace" | "insert":
            yield from _edits(args, output)
        case _:
            pass


def _deletes(args: Args, output: str) -> Iterator[Act]:
    if path := _text(args, *_PATHS):
        yield Deleted(path, bool(args.get("recursive")))


def _moves(args: Args, output: str) -> Iterator[Act]:
    source, target = _text(args, "source", "from"), _text(args, "destination", "target", "to")
    if source and target:
        yield Moved(source, target)


def _polls(args: Args, output: str) -> Iterator[Act]:
    given = (args.get(name) for name in ("bash_id", "task_id", "shell_id", "session_id"))
    if handle := next((str(value) for value in given if value is not None), ""):
        yield Polled(handle)


def _patch(args: Args, text: str) -> tuple[Act, ...]:
    given = _text(args, "input", "patch", "patchText", "diff") or text
    return patched(given, _text(args, *_FOLDERS))


# Claude Code's. The shells of Codex, Gemini CLI and Sapwood start each line where they are told.
_KEEPS_ITS_FOLDER = "Bash"
_SHELLS = frozenset(
    "bash shell shellcommand execcommand exec localshell localshellcall runshellcommand runcommand "
    "runterminalcmd executecommand terminal runinterminal unifiedexec".split()
)
_TOOLS: dict[str, Callable[[Args, str], Iterator[Act] | tuple[Act, ...]]] = {
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
