"""Whether a command line may run what a rule denies, although it is not seen to. Pure.

`command_forms` finds a denied command behind many detours, but detours have no end. So a line that
contains the words of a denial anywhere asks (`mentions`), and so does a line that runs text which
is not on the line, or is in another language (`runs_unseen_text`): `base64 -d | sh`.

Other ways to write a command, which denials have to cover. Pure.

`deny shell(git push *)` is meant for `git -C . push`, `/usr/bin/git push` and `env X=1 git push`
too. A denial is compared with every form that this module finds. Permissions are not: they are
compared with the command as it is.
"""

import fnmatch
import itertools
import re
import shlex
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

from sapwood.workspace.permissions import known_programs as known
from sapwood.workspace.permissions.printed_values import ANY_TEXT, ANY_WORDS, MARKS, SOME_FILE
from sapwood.workspace.permissions.printing_scripts import files_of_script, only_prints
from sapwood.workspace.permissions.shell_commands import (
    SimpleCommand,
    simple_commands,
    xargs_command,
)

WRAPPERS = frozenset(
    "builtin busybox chronic chroot chrt command coproc dbus-run-session doas env eval exec "
    "fakeroot firejail flock ionice linux32 linux64 ltrace nice nohup nsenter numactl parallel "
    "pkexec prlimit proxychains rlwrap runuser script setarch setpriv setsid ssh-agent start-stop-"
    "daemon stdbuf strace su sudo systemd-run taskset time timeout toybox trap unbuffer unshare "
    "valgrind watch xargs xvfb-run".split()
)
"""Programs and words of the shell that run the command in their arguments."""
SHELLS = frozenset("ash bash dash ksh mksh sh zsh".split())
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_GIT_VALUES = frozenset(
    "-C -c --config-env --exec-path --git-dir --namespace --super-prefix --work-tree "
    "--attr-source --list-cmds".split()
)
"""Options of git before its subcommand that take the next word as their value."""
_MAX_FORMS = 200
_PARTS = re.compile(r"&&|\|\||[;|&\n(){}`]|\$\(|<\(|>\(")
_MAX_LENGTH = 4_000
"""A longer command is compared as it is; the words of a denial that it contains make it ask."""


def forms_of(words: Sequence[str]) -> tuple[str, ...]:
    """The command in every form that a denial is compared with, the command itself first.

    >>> "git push" in forms_of(["env", "X=1", "/usr/bin/git", "-C", ".", "push"])
    True
    """
    if sum(map(len, words)) > _MAX_LENGTH:
        return (shlex.join(words),)
    found: dict[str, None] = {}
    _collect(tuple(words), found)
    return tuple(found)


def forms_of_unclear_line(line: str) -> tuple[str, ...]:
    """The forms of what looks like a command in a line that is not understood. It may miss some.

    >>> "git push" in forms_of_unclear_line("X=1 git push; echo $(ls)")
    True
    """
    found: dict[str, None] = {}
    for part in _PARTS.split(line[:_MAX_LENGTH]):
        _collect(_words(part), found)
    return tuple(found)


def _collect(words: tuple[str, ...], found: dict[str, None]) -> None:
    text = shlex.join(words)
    if not words or text in found or len(found) >= _MAX_FORMS:
        return
    found[text] = None
    for other in _rewritten(words):
        _collect(other, found)


def _rewritten(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The command without one detour: a path, an assignment, a program that runs another, …"""
    first, rest = words[0], words[1:]
    if _ASSIGNMENT.match(first):
        yield rest
        return
    name = first.rpartition("/")[2]
    if name != first and name:
        yield (name, *rest)
    elif first.startswith("\\"):
        yield (first.lstrip("\\"), *rest)
    elif name.casefold() == "git":
        yield from _without_git_options(name, rest)
    elif name in SHELLS or name == "eval":
        # The text after -c, or the text that is put together, is a command line of its own.
        for text in (*rest, " ".join(rest)):
            for part in _PARTS.split(text):
                yield _words(part)
    if name in WRAPPERS:
        # Which words are options and which are their values differs, so each rest is a form.
        for start in range(len(rest)):
            if not rest[start].startswith("-"):
                yield rest[start:]
            if " " in rest[start]:  # a command line as one word, as in env -S 'git push'
                yield (*_words(rest[start].removeprefix("-S")), *rest[start + 1 :])


def _without_git_options(name: str, rest: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    place = 0
    aliases: dict[str, str] = {}
    while place < len(rest) and rest[place].startswith("-"):
        takes_value = rest[place] in _GIT_VALUES
        value = rest[place + 1] if takes_value and place + 1 < len(rest) else ""
        if rest[place] == "-c" and value.startswith("alias."):
            alias, _, meaning = value.removeprefix("alias.").partition("=")
            aliases[alias] = meaning
        place += 2 if takes_value else 1
    if place:
        yield (name, *rest[place:])
    if rest[place:] and (meaning := aliases.get(rest[place])):
        words = _words(meaning.removeprefix("!"))
        yield (*(() if meaning.startswith("!") else (name,)), *words, *rest[place + 1 :])


def _words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError:  # an open quote
        return tuple(text.split())


_QUOTES = str.maketrans("", "", "'\"\\")
_MAX_PATTERNS = 200
_PATTERN = re.compile(r"[A-Za-z0-9_.+-]{0,40}[?*\[][A-Za-z0-9_.+?*\[\]!^-]*")
_INTERPRETER = (
    r"(?:python|pypy|perl|ruby|irb|node|nodejs|php|lua|luajit|tclsh|wish|expect|osascript|pwsh|"
    r"powershell|deno|bun|guile|racket|Rscript|julia|ghci|scala|groovy|jshell|awk|gawk|mawk|nawk|"
    r"gdb|lldb|ed|ex|vi|vim|nvim|emacs|bc|dc|m4|at|batch|crontab|sqlite3|psql|mysql|xonsh|nu|fish|"
    r"csh|tcsh|rbash|" + "|".join(sorted(SHELLS)) + r")[0-9.]*"
)
_IS_INTERPRETER = re.compile(_INTERPRETER, re.IGNORECASE)
_NAMES_INTERPRETER = re.compile(
    rf"(?<![A-Za-z0-9_.-])(?:{_INTERPRETER}|eval|source)(?![A-Za-z0-9_.-])", re.IGNORECASE
)
_TAKES_COMMANDS = frozenset("xargs parallel entr watch".split())
_MAX_NESTING = 4


@lru_cache(maxsize=64)
def mentions(pattern: str, line: str) -> bool:
    """Whether all words of a rule's pattern occur in the line, in any order, quoted or not.

    >>> mentions("git push *", "flock x sh -c 'g\\\\it -C . pu\\"s\\"h'")
    True
    >>> mentions("rm *", "npm run format -- --rm"), mentions("rm *", "env -S'rm -r x'")
    (False, True)
    """
    text = line.replace("\\\n", "").translate(_QUOTES)
    wanted = _wanted(pattern)
    return bool(wanted) and all(
        regex.search(text) is not None or _may_become(word, text) for word, regex in wanted
    )


def may_be(pattern: str, command: SimpleCommand, forms: Sequence[str]) -> bool:
    """Whether a command can be the one of the pattern, by words that are not known in advance.

    >>> may_be("git push *", SimpleCommand(("git", "\\x00")), ["git \\x00"])
    True
    >>> may_be("rm *", SimpleCommand(("grep", "rm", "*.sh"), frozenset({2})), ["grep rm '*.sh'"])
    False
    """
    wanted = pattern.split()
    if (command.is_known and not command.patterns) or not wanted:
        return False
    names = {form.split()[0].rpartition("/")[2] for form in forms}
    if not any(fnmatch.fnmatchcase(name.casefold(), wanted[0].casefold()) for name in names):
        return False
    name, given = command.words[0], command.words[1:2]
    is_other = (
        name in known.SUBCOMMANDS and len(wanted) > 1 and given and not set("*?[") & set(wanted[1])
    )
    if is_other and given[0] in known.SUBCOMMANDS[name] and given[0] != wanted[1]:
        return False
    return not command.is_known or mentions(pattern, " ".join(command.words))


def runs_unseen_text(command: SimpleCommand, depth: int = 0) -> bool:
    """Whether a command of the line may run commands that are not among the words of the line."""
    words = command.words
    name = words[0].rpartition("/")[2]
    if evaluates(words):
        return True
    if name in known.READS or name in known.PRINTS or words[:2] == ("command", "-v"):
        return False
    if name in known.SUBCOMMANDS and words[1:2] and words[1] in known.SUBCOMMANDS[name]:
        return False
    if is_interpreter(name):
        return _interprets_unseen(name, words[1:], depth)
    is_wrapper = name in WRAPPERS and not xargs_command(words)
    if any(
        ANY_TEXT in word or ANY_WORDS in word or (SOME_FILE in word and is_wrapper)
        for word in words
    ):
        return True
    if name == "xargs" and not is_wrapper:
        return False  # what it runs is a command of its own
    if name in WRAPPERS and (command.patterns or name in _TAKES_COMMANDS):
        run = next((word for word in words[1:] if not word.startswith("-")), "")
        return bool(command.patterns) or run not in known.READS | known.PRINTS
    if name == "git":
        return any(_IS_GIT_SETTING.match(word) for word in words[1:])
    return any(_NAMES_INTERPRETER.search(word) for word in words[1:])


_IS_GIT_SETTING = re.compile(r"-c$|-c[a-z]+\.|--config-env|--exec-path")


def evaluates(words: Sequence[str]) -> bool:
    """Whether bash evaluates an argument of its own command: `printf -v 'a[$(…)]'`, `test -v`.

    >>> evaluates(["test", "-v", "a[$(ls)]"]), evaluates(["[", "-f", "a", "]"])
    (True, False)
    """
    rest = words[1:]
    if words[0] == "printf":
        return bool(rest) and rest[0] != "--" and (rest[0][:1] == "-" or rest[0][:1] in MARKS)
    if words[0] not in ("test", "["):
        return False
    unsure = [not MARKS.isdisjoint(word) for word in rest]
    return (
        "-v" in rest
        or "-R" in rest
        or any(first and second for first, second in itertools.pairwise(unsure))
        or (any(unsure) and any("[" in word for word in rest))
        or ANY_WORDS in "".join(rest)
    )


def is_interpreter(name: str) -> bool:
    """Whether a program of this name runs text."""
    return _IS_INTERPRETER.fullmatch(name) is not None


def script_of(name: str, arguments: Sequence[str]) -> str:
    """The file or module that an interpreter is to run; '' if it is to run other text.

    >>> script_of("python3", ["tools/a.py", "-c"]), script_of("python3", ["-c", "print()"])
    ('tools/a.py', '')
    """
    if not arguments:
        return ""
    first = arguments[0]
    if first == "-m" and len(arguments) > 1 and name.startswith(("python", "pypy")):
        return arguments[1]
    is_file = re.fullmatch(r"[\w./@+-]*[./][\w./@+-]*", first) and not first.startswith("-")
    return first if is_file else ""


def _interprets_unseen(name: str, arguments: Sequence[str], depth: int) -> bool:
    if list(arguments) in (["--version"], ["-V"], ["-v"], ["--help"], ["--test"]):
        return False
    if name in SHELLS and len(arguments) >= 2 and re.fullmatch(r"-[a-z]*c", arguments[0]):
        inner = simple_commands(arguments[1]) if depth < _MAX_NESTING else None
        return inner is None or any(runs_unseen_text(each, depth + 1) for each in inner)
    if files_of_script((name, *arguments)) is not None:
        return False
    script = next((word for word in arguments if not re.match(r"-F?.{0,2}$", word)), "")
    return not script_of(name, arguments) and not only_prints(name, script)


@cache
def _wanted(pattern: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The words that name the command, each as it is and as an expression.

    Options are left out: they can be written in other ways, unless there is nothing else.
    """
    words = [word for word in pattern.translate(_QUOTES).split() if word.strip("*")]
    named = [word for word in words if not word.startswith("-")] or words
    return tuple((word, _word_regex(word)) for word in named)


def _word_regex(word: str) -> re.Pattern[str]:
    """The word by itself, in a path, in a list, as a part of `git-push`, or glued to an option."""
    word = word.rpartition("/")[2] or word
    body = ".*?".join(map(re.escape, word.strip("*").split("*")))
    before = "" if word.startswith("*") else r"(?:(?<![A-Za-z0-9_.-])|(?<=[A-Za-z0-9_]-)|"
    before += "" if word.startswith("*") else r"(?<![A-Za-z0-9_-])-[A-Za-z]{1,4})"
    after = "" if word.endswith("*") else r"(?![A-Za-z0-9_])"
    return re.compile(before + body + after, re.IGNORECASE)


def _may_become(word: str, text: str) -> bool:
    """Whether a pattern of file names in the text matches the word, as `/bin/to?ch` does."""
    if not set("?*[") & set(text):
        return False
    for count, pattern in enumerate(_file_patterns(text)):
        if count >= _MAX_PATTERNS or fnmatch.fnmatch(word.casefold(), pattern.casefold()):
            return True
    return False


def _file_patterns(text: str) -> Iterator[str]:
    for found in _PATTERN.finditer(text):
        if any(char.isalnum() for char in found[0]) and found[0].strip("*.") == found[0].strip("."):
            yield found[0][:100]
