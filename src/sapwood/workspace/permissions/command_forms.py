"""Other ways to write a command, which denials have to cover. Pure.

`deny shell(git push *)` is meant for `git -C . push`, `/usr/bin/git push` and `env X=1 git push`
too. A denial is compared with every form that this module finds. Permissions are not: they are
compared with the command as it is.
"""

import re
import shlex
from collections.abc import Iterator, Sequence

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
