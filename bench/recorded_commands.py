"""The shell commands of recorded sessions, and what each would need beyond the sandbox.

What a command needs is judged by its words, because the projects of the sessions do not exist. The
judgement is strict: a program that is not known to work on the files of its workspace counts as one
that needs more.
"""

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from msgspec import Struct

from sapwood.analysis.ledger.operations.call_outcomes import call_outcome
from sapwood.analysis.ledger.operations.known_tools import operations_of
from sapwood.analysis.ledger.operations.operation import CommandLineRan
from sapwood.analysis.ledger.operations.simple_commands import (
    SimpleCommand,
    simple_commands,
    without_wrappers,
)
from sapwood.programs.transcripts.session_reader import read_session
from sapwood.workspace.permissions.guarded_paths import PathGuards
from sapwood.workspace.safe_paths import ResolvedPath

_ON_FILES = frozenset(
    "[ awk base64 basename bat black bundle cargo cat cc cd chmod cmake cmp comm cp ctest cut "
    "date df diff dirname do done du echo egrep else env eslint exit export false fd fi file "
    "find flask fmt fold for gcc gem git go gofmt golangci-lint grep gzip head helm if isort "
    "jest jq ln ls make mkdir mv mypy node npm npx patch perl pip pnpm poetry prettier printf "
    "promtool pwd pylint pyright pytest python python3 read realpath rg rm rmdir rspec rubocop "
    "ruby ruff rustfmt sed seq set sha256sum shellcheck sleep sort sqlite3 stat tail tar tee "
    "terraform test then time touch tr tree true tsc type uniq unzip uv vitest wc west which "
    "while xargs xmllint yamllint yarn yq".split()
)
"""Programs and words of the shell that need nothing but files, apart from what follows."""
_NETWORK = {
    "git": "push pull fetch clone ls-remote",
    "npm": "install i ci add update publish audit outdated view uninstall",
    "pnpm": "install i add update publish audit outdated dlx remove",
    "yarn": "install add upgrade publish dlx remove",
    "pip": "install download",
    "uv": "sync add lock pip tool",
    "poetry": "install add update lock",
    "cargo": "fetch add install update publish search",
    "go": "get install",
    "gem": "install update push",
    "bundle": "install add update remove outdated",
    "terraform": "init plan apply destroy import refresh state output",
    "helm": "install upgrade rollback repo history status list get uninstall dependency",
    "npx": "expo vercel create-next-app",
    "flask": "run",
}
"""Subcommands that talk to other machines."""
_PROTECTED = {"git": "config init worktree submodule remote"}
_OUTSIDE = {"west": "flash debug"}
"""They need devices."""
_WRITERS = frozenset("cp mv rm rmdir tee touch mkdir ln chmod patch".split())
_ROOT_WORDS = frozenset("sudo doas su".split())


class RecordedCommand(Struct, frozen=True):
    """A command line, the name of its session, and the folder in which that worked."""

    line: str
    session: str
    folder: str


def recorded_commands(folder: Path) -> Iterator[RecordedCommand]:
    """The shell commands of all transcripts in a folder, in order."""
    for path in sorted(folder.rglob("*.jsonl")):
        session = read_session(path)
        for turn in session.turns:
            for call in turn.calls.values():
                for operation in operations_of(call, call_outcome(None)):
                    if isinstance(operation, CommandLineRan):
                        yield RecordedCommand(operation.command, path.stem, session.folder)


def needs_of(command: RecordedCommand) -> str:
    """What the line would need: network, protected or outside; empty if it stays inside."""
    commands = simple_commands(command.line)
    # What the line itself writes in the private /tmp of the command is there for the rest of it.
    own = {each.target.text for part in commands for each in part.redirects}
    found = [_need(each, command.folder, own) for each in commands]
    # A line that is not understood is judged as one that needs everything.
    return next((need for need in found if need), "") if found else "outside"


def _need(command: SimpleCommand, folder: str, own: Collection[str]) -> str:
    words = [word.text for word in without_wrappers(command.words)]
    if any(word.text in _ROOT_WORDS for word in command.words):
        return "outside"
    files = [each.target.text for each in command.redirects if each.operator.endswith((">", ">|"))]
    if not words:
        return _need_of_paths([], files, folder, own)
    name = words[0].rpartition("/")[2]
    if "/" in words[0] or name in ("bash", "sh", "source", "."):
        return "network"  # a script of the project: it may do anything
    if name not in _ON_FILES:
        return "network"
    sub = next((word for word in words[1:] if not word.startswith("-")), "")
    if name in ("python", "python3") and words[1:3] == ["-m", "pip"]:
        name, sub = "pip", words[3] if len(words) > 3 else ""
    for need, table in (("network", _NETWORK), ("protected", _PROTECTED), ("outside", _OUTSIDE)):
        if sub in table.get(name, "").split():
            return need
    if name in _WRITERS or (name == "sed" and any(w.startswith("-i") for w in words)):
        files += [word for word in words[1:] if not word.startswith("-")]
    return _need_of_paths(words[1:], files, folder, own)


def _need_of_paths(read: list[str], written: list[str], folder: str, own: Collection[str]) -> str:
    for path in (*read, *written):
        is_own = path.startswith("/tmp/") and path in own
        is_hidden = path.startswith(("~", "$HOME", "/tmp/", "/home/", "/root"))
        if is_hidden and path not in written and not is_own:
            return "outside"  # hidden, or another folder in each command
    for path in written:
        if path.startswith(("~", "$HOME")) or (path.startswith("/") and not _is_in(path, folder)):
            if path != "/dev/null" and not path.startswith("/tmp/"):
                return "outside"
        elif _is_protected(path, folder):
            return "protected"
    return ""


def _is_in(path: str, folder: str) -> bool:
    return bool(folder) and os.path.normpath(path).startswith(folder.rstrip("/") + "/")


def _is_protected(path: str, folder: str) -> bool:
    root = folder or "/workspace"
    place = ResolvedPath(root, os.path.normpath(os.path.join(root, path)), path)
    return bool(PathGuards().against_writing_name(place))
