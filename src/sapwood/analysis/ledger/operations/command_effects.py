"""The file operations of a command line, as far as the line itself shows them.

It recognizes deletions, moves, copies, redirections, edits in place and plain reads. It does not
guess what a program does by itself, such as a formatter or a package manager.

The files that a package manager changes when it adds or removes a dependency.

What git prints about files, read as evidence: `status`, `commit`, `diff --stat`, `show --stat`.

Only rows of a fixed form count. Version control sees what no command line shows: the files that a
package manager, a formatter or a generator wrote.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from sapwood.analysis.ledger.operations.call_outcomes import CallOutcome, proves_read
from sapwood.analysis.ledger.operations.inline_edits import files_written, patch_operations
from sapwood.analysis.ledger.operations.operation import (
    ChangesCommitted,
    CommitReverted,
    FileDeleted,
    FileEdited,
    FileListed,
    FileMoved,
    FileRead,
    FileRestored,
    FileWritten,
    FolderMade,
    Operation,
)
from sapwood.analysis.ledger.operations.simple_commands import (
    Redirect,
    ShellWord,
    SimpleCommand,
    changes_folder,
    without_wrappers,
)
from sapwood.analysis.ledger.operations.working_folder import command_folders, join_path

_ERROR_MARKS = (
    "No such file",
    "cannot ",
    "can't ",
    "not found",
    "did not match any",
    "Permission denied",
    "Is a directory",
    "pathspec",
)
_NOT_FILES = ("/dev/", "&")
_OUTPUT_OPERATORS = (">", ">>", ">|")
# Options whose next word is their value, by program.
_VALUE_OPTIONS = {
    "head": {"-n", "-c"},
    "tail": {"-n", "-c"},
    "sed": {"-e", "-f", "--expression", "--file"},
    "nl": {"-b", "-w", "-s"},
    "bat": {"-r", "--line-range", "-l"},
    "cp": {"-t"},
    "mv": {"-t"},
    "touch": {"-d", "-t", "-r"},
}
_READERS = frozenset({"cat", "head", "tail", "nl", "less", "more", "bat", "batcat"})


def effects_of(
    commands: Sequence[SimpleCommand], folder: str, outcome: CallOutcome
) -> Iterator[Operation]:
    """Yields the file operations of the commands of one line that started in a folder."""
    folders = command_folders(commands, folder, outcome)
    for index, command in enumerate(commands):
        if changes_folder(command) or command.before == "||":
            continue
        words, current = without_wrappers(command.words), folders[index]
        completed = outcome.status != "failed" or index < len(commands) - 1
        operations = list(_redirected(command, current))
        if completed and words:
            operations += _operations_of(words, command, current)
            if words[0].text == "git":
                operations += _listed(words[1:], outcome.output, current)
        read = sum(isinstance(operation, FileRead) for operation in operations)
        if read and not proves_read(commands, index, outcome, read):
            operations = [
                operation for operation in operations if not isinstance(operation, FileRead)
            ]
        yield from (each for each in operations if not _is_refuted(each, outcome.output))


def _listed(words: Sequence[ShellWord], output: str, folder: str) -> Iterator[Operation]:
    if len(words) > 2 and words[0].text == "-C":
        folder, words = join_path(folder, words[1].text), words[2:]
    yield from listed_files([word.text for word in words], output, folder)


def _is_refuted(operation: Operation, output: str) -> bool:
    """Whether a line of the output reports an error about the file of the operation."""
    path = getattr(operation, "path", "") or getattr(operation, "source", "")
    name = path.rsplit("/", 1)[-1]
    if not name or name not in output:
        return False
    lines = (line for line in output.splitlines() if name in line)
    return any(mark in line for line in lines for mark in _ERROR_MARKS)


def _redirected(command: SimpleCommand, folder: str) -> Iterator[Operation]:
    for redirect in command.redirects:
        target = redirect.target
        if redirect.operator not in _OUTPUT_OPERATORS or not _names_a_file(target):
            continue
        appended = redirect.operator == ">>"
        content = _output_of(command)
        yield FileWritten(join_path(folder, target.text), content, None, appended)


def _names_a_file(word: ShellWord) -> bool:
    return word.plain and bool(word.text) and not word.text.startswith(_NOT_FILES)


def _output_of(command: SimpleCommand) -> str | None:
    """Returns what a command writes, if the line itself shows it."""
    texts = [word.text for word in command.words]
    if texts[:1] == ["cat"] and len(texts) == 1:
        return _here_document(command.redirects)
    if texts[:1] == ["echo"]:
        printed = [text for text in texts[1:] if text not in ("-e", "-n", "-E")]
        return " ".join(printed).replace("\\n", "\n") + "\n"
    return None


def _here_document(redirects: Iterable[Redirect]) -> str | None:
    return next((each.text for each in redirects if each.operator.startswith("<<")), None)


def _operations_of(
    words: Sequence[ShellWord], command: SimpleCommand, folder: str
) -> Iterator[Operation]:
    program = words[0].text.rsplit("/", 1)[-1]
    if program in ("apply_patch", "applypatch"):
        patch = _here_document(command.redirects) or (words[1].text if len(words) > 1 else "")
        yield from patch_operations(patch, folder)
    elif program.startswith("python") or program in ("node", "ruby"):
        yield from _scripted(words, command, folder)
    elif program == "git":
        yield from _git(words[1:], folder)
    elif program == "tee":
        for path in _paths(words, folder):
            yield FileWritten(path, _here_document(command.redirects), None, "-a" in command.texts)
    elif program in _READERS and not _here_document(command.redirects):
        for path in _paths(words, folder):
            yield FileRead(path)
    elif program in _PROGRAMS:
        yield from _PROGRAMS[program](words, folder)
    else:
        yield from package_changes(words, folder)


def _scripted(
    words: Sequence[ShellWord], command: SimpleCommand, folder: str
) -> Iterator[Operation]:
    inline = [b.text for a, b in pairwise(words) if a.text in ("-c", "-e")]
    for script in (*inline, _here_document(command.redirects) or ""):
        for path, existed in files_written(script):
            yield FileWritten(join_path(folder, path), None, existed or None)


def _arguments(words: Sequence[ShellWord]) -> list[ShellWord]:
    """Returns the words that are neither options nor the values of options."""
    valued = _VALUE_OPTIONS.get(words[0].text.rsplit("/", 1)[-1], set[str]())
    found: list[ShellWord] = []
    skip, only_paths = False, False
    for word in words[1:]:
        if skip:
            skip = False
        elif not only_paths and word.text == "--":
            only_paths = True
        elif not only_paths and word.text.startswith("-"):
            skip = word.text in valued
        else:
            found.append(word)
    return found


def _paths(words: Sequence[ShellWord], folder: str) -> list[str]:
    """Returns the arguments that are paths of files; words that the shell expands are left out."""
    return [join_path(folder, word.text) for word in _arguments(words) if _names_a_file(word)]


def _flags(words: Sequence[ShellWord]) -> str:
    return "".join(word.text for word in words[1:] if word.text.startswith("-"))


def _removed(words: Sequence[ShellWord], folder: str) -> Iterator[Operation]:
    whole = any(letter in _flags(words) for letter in "rR")
    for path in _paths(words, folder):
        yield FileDeleted(path, whole)


def _moved(words: Sequence[ShellWord], folder: str) -> Iterator[Operation]:
    for source, target in _pairs(words, folder):
        yield FileMoved(source, target)


def _copied(words: Sequence[ShellWord], folder: str) -> Iterator[Operation]:
    if any(letter in _flags(words) for letter in "rRa"):
        return  # a copied folder: the line does not show its files
    for _, target in _pairs(words, folder):
        yield FileWritten(target)


def _pairs(words: Sequence[ShellWord], folder: str) -> Iterator[tuple[str, str]]:
    paths = _paths(words, folder)
    if len(paths) < 2:
        return
    *sources, target = paths
    into = len(sources) > 1 or words[-1].text.endswith("/") or words[-1].text in (".", "..")
    for source in sources:
        name = source.rsplit("/", 1)[-1]
        yield source, join_path(target, name) if into else target


def _made(words: Sequence[ShellWord], folder: str) -> Iterator[Operation]:
    for path in _paths(words, folder):
        yield FolderMade(path)


def _touched(words: Sequence[ShellWord], folder: str) -> Iterator[Operation]:
    for path in _paths(words, folder):
        yield FileWritten(path, "", None, appended=True)


def _sed(words: Sequence[ShellWord], folder: str) -> Iterator[Operation]:
    """`sed`: the first argument is the script, unless an option contains it."""
    options = [word.text for word in words[1:] if word.text.startswith("-")]
    arguments = [word for word in _arguments(words) if word.text]
    files = arguments if _VALUE_OPTIONS["sed"] & set(options) else arguments[1:]
    in_place = any("i" in o if o[:2] != "--" else o.startswith("--in-place") for o in options)
    for word in files:
        if _names_a_file(word):
            path = join_path(folder, word.text)
            yield FileEdited(path) if in_place else FileRead(path)


def _perl(words: Sequence[ShellWord], folder: str) -> Iterator[Operation]:
    """`perl -pi -e SCRIPT FILES`, however the options are combined."""
    options = [word.text for word in words[1:] if word.text.startswith("-")]
    if not any("i" in option for option in options):
        return
    for index, word in enumerate(words[:-1]):
        if word.text.startswith("-") and word.text.endswith("e"):
            files = [each for each in words[index + 2 :] if _names_a_file(each)]
            yield from (FileEdited(join_path(folder, each.text)) for each in files)
            return


def _downloaded(words: Sequence[ShellWord], folder: str) -> Iterator[Operation]:
    output_options = {"-o", "-O", "--output", "--output-document"}
    for option, word in pairwise(words):
        if (
            option.text in output_options
            and not word.text.startswith(("-", "http"))
            and _names_a_file(word)
        ):
            yield FileWritten(join_path(folder, word.text))


def _git(words: Sequence[ShellWord], folder: str) -> Iterator[Operation]:
    if len(words) > 2 and words[0].text == "-C":
        folder, words = join_path(folder, words[1].text), words[2:]
    match [word.text for word in words]:
        case ["rm", *rest] if "--cached" not in rest:
            yield from _removed(words, folder)
        case ["mv", *_]:
            yield from _moved(words, folder)
        case ["commit", *rest]:
            named = rest[rest.index("--") + 1 :] if "--" in rest else []
            options = [text for text in rest if text[:1] == "-" and text[:2] != "--"]
            yield ChangesCommitted(
                tuple(join_path(folder, text) for text in named),
                any("a" in text for text in options) or "--all" in rest,
            )
        case ["revert", *rest] if [text for text in rest if text[:1] != "-"] == ["HEAD"]:
            yield CommitReverted()
        case ["checkout", *rest] if "--" in rest:
            yield from _restored(words[rest.index("--") + 2 :], folder)
        case ["checkout", "."] | ["reset", "--hard"] | ["reset", "--hard", "HEAD"]:
            yield FileRestored("")
        case ["restore", *rest] if "--staged" not in rest:
            yield from _restored(words[1:], folder)
        case _:
            pass


def _restored(words: Sequence[ShellWord], folder: str) -> Iterator[Operation]:
    for word in words:
        if not word.text.startswith("-") and word.plain:
            yield FileRestored("" if word.text == "." else join_path(folder, word.text))


_PROGRAMS: dict[str, Callable[[Sequence[ShellWord], str], Iterator[Operation]]] = {
    "rm": _removed,
    "unlink": _removed,
    "mv": _moved,
    "mkdir": _made,
    "cp": _copied,
    "touch": _touched,
    "sed": _sed,
    "gsed": _sed,
    "perl": _perl,
    "curl": _downloaded,
    "wget": _downloaded,
}


_NPM = ("package.json", "package-lock.json")
# The program and its first argument; without a package after them nothing is changed.
_FILES: dict[tuple[str, str], tuple[str, ...]] = {
    **dict.fromkeys([("npm", verb) for verb in ("install", "i", "add", "uninstall")], _NPM),
    **dict.fromkeys([("yarn", verb) for verb in ("add", "remove")], ("package.json", "yarn.lock")),
    **dict.fromkeys(
        [("pnpm", verb) for verb in ("add", "remove")], ("package.json", "pnpm-lock.yaml")
    ),
    **dict.fromkeys([("cargo", verb) for verb in ("add", "remove")], ("Cargo.toml", "Cargo.lock")),
    **dict.fromkeys(
        [("poetry", verb) for verb in ("add", "remove")], ("pyproject.toml", "poetry.lock")
    ),
    **dict.fromkeys([("uv", verb) for verb in ("add", "remove")], ("pyproject.toml", "uv.lock")),
    ("go", "get"): ("go.mod", "go.sum"),
    ("bundle", "add"): ("Gemfile", "Gemfile.lock"),
    ("composer", "require"): ("composer.json", "composer.lock"),
}
_ELSEWHERE = frozenset({"-g", "--global", "--prefix", "--no-save", "--dry-run", "-C", "--dir"})


def package_changes(words: Sequence[ShellWord], folder: str) -> Iterator[Operation]:
    """Yields the changes of the manifest and the lock file.

    >>> [each.path for each in package_changes([ShellWord(t) for t in "uv add rich".split()], "")]
    ['pyproject.toml', 'uv.lock']
    """
    texts = [word.text for word in words]
    if _ELSEWHERE & set(texts):
        return
    plain = [text for text in texts if not text.startswith("-")]
    if len(plain) > 2 and (files := _FILES.get((plain[0].rsplit("/", 1)[-1], plain[1]))):
        yield from (FileEdited(join_path(folder, name)) for name in files)


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
