"""What some commands print, as far as it is known: numbers, revisions, names of files. Pure.

`for file in $(git ls-files); do wc -l "$file"; done` reads files that git lists, and no others.
Everything that is not known here can be any text. What is not known is written as a mark, a
character that no command line contains.
"""

import re
from collections.abc import Sequence

ANY_TEXT = "\0"
"""Stands for any text, within one word."""
SOME_FILE = "\1"
"""Stands for the path of a file that a command listed."""
ANY_WORDS = "\2"
"""Stands for any number of any words."""
A_NUMBER = "\3"
A_REVISION = "\4"
"""They stand for a number and for a revision of git: harmless wherever one is expected."""
MARKS = frozenset((ANY_TEXT, SOME_FILE, ANY_WORDS))
NOT_KNOWN = MARKS | {A_NUMBER, A_REVISION}
_ANY = (ANY_TEXT,)
_FILE = (SOME_FILE,)
_NUMBER = (A_NUMBER,)
_REVISION = (A_REVISION,)
_AWAY = re.compile(r"(?:^|[=:])[/~]|(?:^|[/=:])\.\.(?:[/=:]|$)|[\0\2]")
_DATE = re.compile(r"\+(?:%-?[aAbBdeFHIjmMNsSTuVwyYZz]|[A-Za-z0-9_:. -])+", re.ASCII)
_FIND_TESTS = frozenset(
    "-type -name -iname -path -ipath -not ! ( ) -o -or -a -and -maxdepth -mindepth -size -mtime "
    "-mmin -newer -prune -print -empty -print0 -regex -iregex -wholename".split()
)
_HASH_FORMAT = re.compile(r"--(?:format|pretty)=(?:t?format:)?%[hH]")
_MORE_THAN_HASH = re.compile(
    r"-[pucLm]|--(?:patch|stat|name|numstat|raw|graph|cc|shortstat|summary)"
)
_SELECTING = frozenset("head tail sort uniq tac".split())


def printed_lines(commands: Sequence[tuple[str, ...]], has_patterns: bool) -> tuple[str, ...]:
    """The lines that a pipeline of commands prints, each as a value.

    >>> printed_lines([("git", "rev-parse", "HEAD")], False), printed_lines([("cat", "a")], False)
    (('\\x04',), ('\\x00',))
    """
    if not commands:
        return _ANY
    if _prints_number(commands[-1]):
        return _NUMBER
    found = _listed(commands[0], has_patterns)
    for words in commands[1:]:
        if not _selects(words):
            return _ANY
    return found


def _prints_number(words: tuple[str, ...]) -> bool:
    operands = [word for word in words[1:] if not word.startswith("-")]
    options = [word for word in words[1:] if word.startswith("-")]
    match words[0]:
        case "wc":
            return not operands and all(re.fullmatch(r"-[lwcm]", each) for each in options)
        case "grep":
            is_plain = all(re.fullmatch(r"-[cviEFwxs]+", each) for each in options)
            return len(operands) <= 2 and is_plain and any("c" in each for each in options)
        case "nproc" | "seq":
            return True
        case "git":
            return words[1:2] == ("rev-list",) and "--count" in words
        case "jq":
            return len(operands) >= 1 and re.search(r"(?:^|\|\s*)length$", operands[0]) is not None
        case "date":
            return words[1:] == ("+%s",)
        case _:
            return False


def _listed(words: tuple[str, ...], has_patterns: bool) -> tuple[str, ...]:
    name, rest = words[0], words[1:]
    if name == "basename":
        # The name of a file that a pattern matched: no folder, and not hidden.
        return ("*",) if has_patterns and re.search(r"(?:^|/)[^/.][^/]*$", rest[0]) else _ANY
    if name == "date":
        is_known = len(rest) == 1 and _DATE.fullmatch(rest[0])
        return (re.sub(r"%-?[A-Za-z]", A_NUMBER, rest[0][1:]),) if is_known else _ANY
    if any(_AWAY.search(word) for word in rest):
        return _ANY
    match name:
        case "git":
            return _listed_by_git(rest)
        case "ls":
            is_short = all(re.fullmatch(r"-[1dtrS]+", each) for each in rest if each[:1] == "-")
            return _FILE if is_short else _ANY
        case "rg" | "grep":
            names = any(
                re.fullmatch(r"-[a-zA-Z]*l[a-zA-Z]*|--files(?:-with-matches)?", w) for w in rest
            )
            other = any(
                re.fullmatch(r"-[a-zA-Z]*[cZ0][a-zA-Z]*|--(?:count|null).*", w) for w in rest
            )
            return _FILE if names and not other else _ANY
        case "find":
            return _listed_by_find(rest)
        case _:
            return _ANY


def _listed_by_git(rest: tuple[str, ...]) -> tuple[str, ...]:
    text = " ".join(rest)
    if rest[:1] in (("merge-base",), ("describe",)) or rest[:2] == ("branch", "--show-current"):
        return _REVISION
    if rest[:1] == ("rev-parse",):
        options = {word for word in rest[1:] if word.startswith("-")}
        is_known = all(
            re.fullmatch(r"--short(?:=\d+)?|--verify|--abbrev-ref|-q|--quiet", o) for o in options
        )
        return _REVISION if is_known and len(rest) > 1 else _ANY
    if rest[:1] == ("log",):
        formats = [word for word in rest if word.startswith(("--format", "--pretty"))]
        is_hash = len(formats) == 1 and _HASH_FORMAT.fullmatch(formats[0])
        return _REVISION if is_hash and not any(map(_MORE_THAN_HASH.match, rest)) else _ANY
    if rest[:1] == ("rev-list",) and not re.search(
        r"--(?:objects|format|pretty|header|children|parents)", text
    ):
        return _REVISION
    if rest[:1] == ("ls-files",) and not re.search(
        r" -[a-z]*[stcvfz]|--(?:stage|debug|eol|format)", text
    ):
        return _FILE
    if rest[:1] == ("diff",) and "--name-only" in rest and "-z" not in rest:
        return _FILE
    if rest[:1] == ("grep",) and ("-l" in rest or "--files-with-matches" in rest):
        return _FILE
    return _ANY


def _listed_by_find(rest: tuple[str, ...]) -> tuple[str, ...]:
    starts: list[str] = []
    for word in rest:
        if word.startswith(("-", "!", "(")):
            break
        starts.append(word)
    tests = rest[len(starts) :]
    if any(
        word.startswith("-") and word not in _FIND_TESTS and not re.fullmatch(r"-\d+\w?", word)
        for word in tests
    ):
        return _ANY
    return tuple(f"{start.rstrip('/')}/{SOME_FILE}" for start in starts or (".",))


def _selects(words: tuple[str, ...]) -> bool:
    """Whether the command prints some of the lines that it reads, as they are."""
    rest = words[1:]
    if words[0] == "grep":
        options = [word for word in rest if word.startswith("-")]
        is_plain = all(re.fullmatch(r"-[viEFwxs]+", each) for each in options)
        return is_plain and len(rest) - len(options) == 1
    if words[0] in ("head", "tail"):
        return all(re.fullmatch(r"-n?\d*|[+-]?\d+", each) for each in rest)
    return words[0] in _SELECTING and all(re.fullmatch(r"-[runVf]+", each) for each in rest)
