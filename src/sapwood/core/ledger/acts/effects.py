"""What a command line did to files, as far as the line itself tells.

Deletions, moves, copies, redirections, edits in place and plain reading are seen. What a program
does by itself (a formatter, a package manager) is not guessed.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from sapwood.core.ledger.acts.act import (
    Act,
    Committed,
    Deleted,
    Edited,
    Moved,
    Read,
    Restored,
    Wrote,
)
from sapwood.core.ledger.acts.folders import enters, folders_of
from sapwood.core.ledger.acts.hiding import surely_read
from sapwood.core.ledger.acts.outcomes import Ended
from sapwood.core.ledger.acts.patches import patched
from sapwood.core.ledger.acts.paths import joined
from sapwood.core.ledger.acts.scripts import written_by
from sapwood.core.ledger.acts.shell import Redirect, Simple, Word
from sapwood.core.ledger.acts.wrappers import unwrapped

__all__ = ["effects_of"]

_COMPLAINTS = (
    "No such file",
    "cannot ",
    "can't ",
    "not found",
    "did not match any",
    "Permission denied",
    "Is a directory",
    "pathspec",
)
_NOWHERE = ("/dev/", "&")
_OUTPUT = (">", ">>", ">|")
# Options whose next word is their value, by program.
_VALUED = {
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


def effects_of(commands: Sequence[Simple], folder: str, how: Ended) -> Iterator[Act]:
    """What these commands of one line, run in a folder, did to files."""
    complaints = _complaints(how.output)
    folders = folders_of(commands, folder, how)
    for place, command in enumerate(commands):
        if enters(command) or command.before == "||":
            continue
        words, here = unwrapped(command.words), folders[place]
        came_to_its_end = how.outcome != "failed" or place < len(commands) - 1
        acts = list(_redirected(command, here))
        if came_to_its_end and words:
            acts += _acts_of(words, command, here)
        read = sum(isinstance(act, Read) for act in acts)
        if read and not surely_read(commands, place, how, read):
            acts = [act for act in acts if not isinstance(act, Read)]
        yield from (act for act in acts if not _complained(act, complaints))


def _complaints(output: str) -> list[str]:
    """The lines of an output in which a program says what it could not do."""
    met = [each for each in _COMPLAINTS if each in output]
    return [line for line in output.splitlines() if any(c in line for c in met)] if met else []


def _complained(act: Act, complaints: Iterable[str]) -> bool:
    path = getattr(act, "path", "") or getattr(act, "source", "")
    name = path.rsplit("/", 1)[-1]
    return bool(name) and any(name in line for line in complaints)


def _redirected(command: Simple, folder: str) -> Iterator[Act]:
    for redirect in command.redirects:
        target = redirect.target
        if redirect.operator not in _OUTPUT or not _names_a_file(target):
            continue
        appended = redirect.operator == ">>"
        content = _output_of(command)
        yield Wrote(joined(folder, target.text), content, None, appended)


def _names_a_file(word: Word) -> bool:
    return word.plain and bool(word.text) and not word.text.startswith(_NOWHERE)


def _output_of(command: Simple) -> str | None:
    """What a command writes, where the line itself tells."""
    texts = [word.text for word in command.words]
    if texts[:1] == ["cat"] and len(texts) == 1:
        return _here(command.redirects)
    if texts[:1] == ["echo"]:
        said = [text for text in texts[1:] if text not in ("-e", "-n", "-E")]
        return " ".join(said).replace("\\n", "\n") + "\n"
    return None


def _here(redirects: Iterable[Redirect]) -> str | None:
    return next((each.text for each in redirects if each.operator.startswith("<<")), None)


def _acts_of(words: Sequence[Word], command: Simple, folder: str) -> Iterator[Act]:
    program = words[0].text.rsplit("/", 1)[-1]
    if program in ("apply_patch", "applypatch"):
        given = _here(command.redirects) or (words[1].text if len(words) > 1 else "")
        yield from patched(given, folder)
    elif program.startswith("python") or program in ("node", "ruby"):
        yield from _scripted(words, command, folder)
    elif program == "git":
        yield from _git(words[1:], folder)
    elif program == "tee":
        for path in _paths(words, folder):
            yield Wrote(path, _here(command.redirects), None, "-a" in command.texts)
    elif program in _READERS and not _here(command.redirects):
        for path in _paths(words, folder):
            yield Read(path)
    elif program in _PROGRAMS:
        yield from _PROGRAMS[program](words, folder)


def _scripted(words: Sequence[Word], command: Simple, folder: str) -> Iterator[Act]:
    inline = [b.text for a, b in pairwise(words) if a.text in ("-c", "-e")]
    for script in (*inline, _here(command.redirects) or ""):
        for path, was_there in written_by(script):
            yield Wrote(joined(folder, path), None, was_there or None)


def _arguments(words: Sequence[Word]) -> list[Word]:
    """The words that are neither options nor the values of options."""
    valued = _VALUED.get(words[0].text.rsplit("/", 1)[-1], set[str]())
    found: list[Word] = []
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


def _paths(words: Sequence[Word], folder: str) -> list[str]:
    """The arguments that name files: no patterns, nothing that was expanded."""
    return [joined(folder, word.text) for word in _arguments(words) if _names_a_file(word)]


def _flags(words: Sequence[Word]) -> str:
    return "".join(word.text for word in words[1:] if word.text.startswith("-"))


def _removed(words: Sequence[Word], folder: str) -> Iterator[Act]:
    whole = any(letter in _flags(words) for letter in "rR")
    for path in _paths(words, folder):
        yield Deleted(path, whole)


def _moved(words: Sequence[Word], folder: str) -> Iterator[Act]:
    for source, target in _pairs(words, folder):
        yield Moved(source, target)


def _copied(words: Sequence[Word], folder: str) -> Iterator[Act]:
    if any(letter in _flags(words) for letter in "rRa"):
        return  # a folder: which files came along is not in the line
    for _, target in _pairs(words, folder):
        yield Wrote(target)


def _pairs(words: Sequence[Word], folder: str) -> Iterator[tuple[str, str]]:
    paths = _paths(words, folder)
    if len(paths) < 2:
        return
    *sources, target = paths
    into = len(sources) > 1 or words[-1].text.endswith("/") or words[-1].text in (".", "..")
    for source in sources:
        name = source.rsplit("/", 1)[-1]
        yield source, joined(target, name) if into else target


def _touched(words: Sequence[Word], folder: str) -> Iterator[Act]:
    for path in _paths(words, folder):
        yield Wrote(path, "", None, appended=True)


def _streamed(words: Sequence[Word], folder: str) -> Iterator[Act]:
    """`sed`: the first argument is the script, unless an option gave it."""
    options = [word.text for word in words[1:] if word.text.startswith("-")]
    given = [word for word in _arguments(words) if word.text]
    files = given if _VALUED["sed"] & set(options) else given[1:]
    in_place = any("i" in o if o[:2] != "--" else o.startswith("--in-place") for o in options)
    for word in files:
        if _names_a_file(word):
            path = joined(folder, word.text)
            yield Edited(path) if in_place else Read(path)


def _perl(words: Sequence[Word], folder: str) -> Iterator[Act]:
    """`perl -pi -e SCRIPT FILES`, in whatever way the options are put together."""
    options = [word.text for word in words[1:] if word.text.startswith("-")]
    if not any("i" in option for option in options):
        return
    for place, word in enumerate(words[:-1]):
        if word.text.startswith("-") and word.text.endswith("e"):
            files = [each for each in words[place + 2 :] if _names_a_file(each)]
            yield from (Edited(joined(folder, each.text)) for each in files)
            return


def _downloaded(words: Sequence[Word], folder: str) -> Iterator[Act]:
    named = {"-o", "-O", "--output", "--output-document"}
    for option, word in pairwise(words):
        if option.text in named and not word.text.startswith(("-", "http")) and _names_a_file(word):
            yield Wrote(joined(folder, word.text))


def _git(words: Sequence[Word], folder: str) -> Iterator[Act]:
    if len(words) > 2 and words[0].text == "-C":
        folder, words = joined(folder, words[1].text), words[2:]
    match [word.text for word in words]:
        case ["rm", *rest] if "--cached" not in rest:
            yield from _removed(words, folder)
        case ["mv", *_]:
            yield from _moved(words, folder)
        case ["commit", *_]:
            yield Committed()
        case ["checkout", *rest] if "--" in rest:
            yield from _restored(words[rest.index("--") + 2 :], folder)
        case ["checkout", "."] | ["reset", "--hard"] | ["reset", "--hard", "HEAD"]:
            yield Restored("")
        case ["restore", *rest] if "--staged" not in rest:
            yield from _restored(words[1:], folder)
        case _:
            pass


def _restored(words: Sequence[Word], folder: str) -> Iterator[Act]:
    for word in words:
        if not word.text.startswith("-") and word.plain:
            yield Restored("" if word.text == "." else joined(folder, word.text))


_PROGRAMS: dict[str, Callable[[Sequence[Word], str], Iterator[Act]]] = {
    "rm": _removed,
    "unlink": _removed,
    "mv": _moved,
    "cp": _copied,
    "touch": _touched,
    "sed": _streamed,
    "gsed": _streamed,
    "perl": _perl,
    "curl": _downloaded,
    "wget": _downloaded,
}
