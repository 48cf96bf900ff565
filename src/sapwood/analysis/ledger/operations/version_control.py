"""What git prints about files, read as evidence: `status`, `commit`, `diff --stat`, `show --stat`.

Only rows of a fixed form count. Version control sees what no command line shows: the files that a
package manager, a formatter or a generator wrote.
"""

import re
from collections.abc import Iterator, Sequence

from sapwood.analysis.ledger.operations.operation import FileListed
from sapwood.analysis.ledger.operations.working_folder import join_path

_SHORT = re.compile(r"([ MTADRCU?!])([ MTADRCU?!]) (?=\S)(.{1,400})$")
_STRIPPED = re.compile(r"([MTADRC])() (?=\S)(.{1,400})$")
"""The first row after its leading space was stripped."""
_LONG = re.compile(r"\t(modified|new file|deleted|renamed|typechange): +(\S.{0,400})$")
_STAT = re.compile(r" (\S.{0,400}?) +\| +(?:\d+ ?[+-]*|Bin .*)$")
_MODE = re.compile(r" (create|delete) mode \d{6} (\S.{0,400})$")
_RENAMED = re.compile(r" rename (\S.{0,400}?) \(\d+%\)$")
_BRACES = re.compile(r"\{(.*?) => (.*?)\}")
_SHORT_OPTIONS = frozenset({"-s", "--short", "--porcelain", "-sb", "--porcelain=v1"})
_MAX_ROWS = 2_000


def listed_files(arguments: Sequence[str], output: str, folder: str) -> Iterator[FileListed]:
    """Yields what a git command with these arguments says about the files of its folder.

    >>> [each.state for each in listed_files(["status", "--short"], " M a.py\\n?? b.py", "")]
    ['changed', 'untracked']
    """
    command, options = arguments[0] if arguments else "", set(arguments[1:])
    rows = output.split("\n", _MAX_ROWS)[:_MAX_ROWS]
    match command:
        case "status":
            found = _short(rows) if _SHORT_OPTIONS & options else _long(rows)
        case "commit":
            found = _committed(rows)
        case "diff" | "show" if "--stat" in options and _is_about_own_work(command, arguments[1:]):
            found = _stat(rows)
        case _:
            return
    for state, path, source in found:
        old = join_path(folder, _bare(source)) if source else ""
        yield FileListed(state, join_path(folder, _bare(path)), old, command == "show")


def _is_about_own_work(command: str, arguments: Sequence[str]) -> bool:
    """Whether a diff compares the work tree or the newest commit, not some other branch."""
    named = [text for text in arguments if not text.startswith("-")]
    return not named or named[0] == "HEAD" or (command == "diff" and "--" in arguments[:2])


def _short(rows: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    for number, row in enumerate(rows):
        found = _SHORT.match(row) or (_STRIPPED.match(row) if number == 0 else None)
        if not found or found[1] + found[2] in ("  ", "!!"):
            continue
        codes, path = (found[1] + found[2]).replace(" ", ""), found[3].rstrip()
        if codes == "??":
            yield "untracked", path, ""
        elif "R" in codes and " -> " in path:
            source, _, target = path.partition(" -> ")
            yield "renamed", target, source
        elif codes.endswith("D"):
            yield "deleted", path, ""
        else:
            yield ("created" if codes[:1] == "A" else "changed"), path, ""


def _long(rows: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    states = {"new file": "created", "deleted": "deleted"}
    untracked = False
    for row in rows:
        if found := _LONG.match(row):
            if found[1] == "renamed":
                source, _, target = found[2].partition(" -> ")
                yield "renamed", target, source
            else:
                yield states.get(found[1], "changed"), found[2].rstrip(), ""
        elif row.startswith("Untracked files:"):
            untracked = True
        elif untracked and row.startswith("\t") and not row.startswith("\t("):
            yield "untracked", row.strip(), ""
        elif row and not row.startswith((" ", "\t")):
            untracked = False


def _committed(rows: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    for row in rows:
        if found := _MODE.match(row):
            yield ("created" if found[1] == "create" else "deleted"), found[2].rstrip(), ""
        elif found := _RENAMED.match(row):
            yield ("renamed", *_both_names(found[1]))


def _stat(rows: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    for row in rows:
        found = _STAT.match(row)
        if found and "..." not in found[1]:
            if " => " in found[1]:
                yield ("renamed", *_both_names(found[1]))
            else:
                yield "changed", found[1], ""


def _both_names(text: str) -> tuple[str, str]:
    """Returns the new and the old name of `a/{b => c}/d` or `a => b`."""
    if _BRACES.search(text):
        new, old = _BRACES.sub(r"\2", text), _BRACES.sub(r"\1", text)
        return new.replace("//", "/"), old.replace("//", "/")
    old, _, new = text.partition(" => ")
    return new, old


def _bare(path: str) -> str:
    return path.strip().strip('"')
