"""Finds the simple commands that a shell command line runs. Pure.

It understands words, quotes, `;`, `&&`, `||`, `|`, `&`, new lines, redirections of output to
/dev/null or to another output, input from a file, `time`, `if`, `while` and `for`, and variables
that only choose how a program prints or logs. It does not understand other variables,
substitutions, other redirections, groups, functions and comments, because what those run is known
only at run time. The result is complete: it contains every command that the line can start, or is
None.
"""

import re
import shlex

from msgspec import Struct

__all__ = ["SimpleCommand", "folders_of", "simple_commands"]

_RESERVED = frozenset("for case esac in select function coproc ! [[ ]] { }".split())
# The commands between these words are found like all others; the words decide when they run.
_AROUND_COMMANDS = frozenset("if then elif else fi while until do done".split())
_PRINTED = re.compile(r"\$(?:\?|PWD|HOME|USER|PATH|SHELL|HOSTNAME|LANG)(?![A-Za-z0-9_])")
"""Variables that say nothing private. They may be printed."""
# Output to /dev/null or to another output; the number before it was read as a word.
_HARMLESS_REDIRECTION = re.compile(
    r"(?:(?:&>>?|>>?|<)[ \t]*/dev/null|>&[0-9])(?=[ \t\n;&|]|$)", re.ASCII
)
_LOOP = re.compile(
    r"[ \t]*[a-z_]{1,20}[ \t]+in((?:[ \t]+[A-Za-z0-9_./*-]+)*)[ \t]*[;\n]\s*(?=do\s)"
)
_INPUT = re.compile(r"<[ \t]*([A-Za-z0-9_.][A-Za-z0-9_./-]*)(?=[ \t\n;&|]|$)", re.ASCII)
_HARMLESS_VARIABLE = re.compile(
    r"(?:CI|NODE_ENV|APP_ENV|RAILS_ENV|RACK_ENV|FLASK_ENV|FLASK_DEBUG|RUST_BACKTRACE|RUST_LOG|LANG|"
    r"LC_[A-Z]+|TZ|NO_COLOR|FORCE_COLOR|CLICOLOR|COLUMNS|LINES|PYTHONUNBUFFERED|PYTHONHASHSEED|"
    r"PYTHONDONTWRITEBYTECODE|GOOS|GOARCH|CGO_ENABLED|PORT|LOG_LEVEL|DEBUG|VERBOSE|"
    r"PYTHONPATH(?==(?:src|lib|\.)[ \t]))=[A-Za-z0-9_.:,*-]*[ \t]+(?=[^ \t\n;&|#])",
    re.ASCII,
)
"""Variables that name neither programs nor files, with a plain value, before a command."""
_MAX_COMMANDS = 100
_OPERATOR = re.compile(r"&&|\|\||\|&|[;|&\n]")
_NOT_PLAIN = frozenset("$`(){}")
_NOT_PLAIN_FIRST = frozenset("*?[]~=^")


class SimpleCommand(Struct, frozen=True):
    """The words of one command, and the operator after it: '' at the end of the line.

    `patterns` are the places of words that the shell replaces by the names of files, and `inputs`
    the files that the command reads with `<`.
    """

    words: tuple[str, ...]
    operator: str = ""
    patterns: frozenset[int] = frozenset()
    inputs: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The command in one canonical form: one space between words, quoted where needed."""
        return shlex.join(self.words)


def simple_commands(line: str) -> tuple[SimpleCommand, ...] | None:
    """Each simple command of the line; None if the line is not understood.

    >>> [each.text for each in simple_commands("git add . && git commit -m 'a; b' 2>/dev/null")]
    ['git add .', "git commit -m 'a; b'"]
    >>> simple_commands("echo $(rm -rf .)") is None
    True
    """
    parser = _Parser(line)
    return parser.commands() if parser.parse() else None


def folders_of(commands: tuple[SimpleCommand, ...], folder: str) -> tuple[str | None, ...]:
    """The folder in which each command runs, from the workspace's folder on; None if unsure.

    `cd FOLDER && …` changes the folder of what follows. In other combinations the commands after
    `cd` may run in either folder.

    >>> folders_of(simple_commands("make; cd docs && make html | tail"), ".")
    ('.', '.', 'docs', 'docs')
    >>> folders_of(simple_commands("cd docs; make html"), ".")
    ('.', None)
    """
    found: list[str | None] = []
    current: str | None = folder
    for place, command in enumerate(commands):
        found.append(current)
        if _changes_folder(command.words):
            is_piped = place > 0 and commands[place - 1].operator in _PIPES
            after = {each.operator for each in commands[place:-1]}
            is_sure = command.operator == "&&" and not is_piped and after <= {"&&", *_PIPES}
            current = _entered(current, command.words) if is_sure else None
    return tuple(found)


_PIPES = ("|", "|&")
_FOLDER_COMMANDS = ("cd", "pushd", "popd")
_RUNS_ANOTHER = ("builtin", "command", "eval", "source", ".", "exec", "trap")
"""Commands of the shell itself that may run `cd`."""


def _changes_folder(words: tuple[str, ...]) -> bool:
    return words[0] in _FOLDER_COMMANDS or words[0] in _RUNS_ANOTHER


def _entered(folder: str | None, words: tuple[str, ...]) -> str | None:
    """The folder after `cd WORD`; None for all that is not a plain path downwards."""
    if folder is None or len(words) != 2 or words[0] != "cd":
        return None
    path = words[1]
    steps = [step for step in path.split("/") if step not in ("", ".")]
    if path.startswith(("/", "~", "-")) or ".." in steps or any(char in path for char in "*?["):
        return None
    return "/".join([*([] if folder == "." else [folder]), *steps]) or "."


class _Parser:
    """Parses a line in one pass."""

    def __init__(self, line: str) -> None:
        self._line = line
        self._place = 0
        self._commands: list[SimpleCommand] = []
        self._words: list[str] = []
        self._word: list[str] | None = None
        self._is_quoted = False
        self._is_pattern = False
        self._patterns: set[int] = set()
        self._inputs: list[str] = []
        self._needs_more = False
        self._is_timed = False
        self._is_around = False

    def commands(self) -> tuple[SimpleCommand, ...]:
        return tuple(self._commands)

    def parse(self) -> bool:
        """Parses the line; returns whether all of it was understood."""
        while self._place < len(self._line):
            if not self._step(self._line[self._place]) or len(self._commands) > _MAX_COMMANDS:
                return False
        return self._end_command("") and not self._needs_more and bool(self._commands)

    def _step(self, char: str) -> bool:
        match char:
            case " " | "\t":
                self._place += 1
                return self._end_word()
            case "\\":
                return self._escaped()
            case "'":
                return self._single_quoted()
            case '"':
                return self._double_quoted()
            case "<" | ">" | "&" | ";" | "|" | "\n":
                return self._redirection() or self._operator()
            case _:
                return self._plain(char)

    def _plain(self, char: str) -> bool:
        if char == "$" and (printed := self._printed(self._place)):
            self._add(printed)
            self._place += len(printed)
            return True
        if not self._words and self._word is None:
            found = _HARMLESS_VARIABLE.match(self._line, self._place)
            if found:
                self._place = found.end()
                return True
        if char in _NOT_PLAIN or not (char.isprintable()) or (char == "#" and self._word is None):
            return False
        if not self._words and char in _NOT_PLAIN_FIRST and not self._is_test():
            return False  # a pattern, a home folder or an assignment instead of a command name
        self._add(char)
        self._is_pattern |= char in "*?[" and bool(self._words)
        self._place += 1
        return True

    def _printed(self, place: int) -> str:
        """A harmless variable at this place, if the command only prints it."""
        if self._words[:1] not in (["echo"], ["printf"]):
            return ""
        found = _PRINTED.match(self._line, place)
        return found[0] if found else ""

    def _is_test(self) -> bool:
        """Whether the next word is the command `[`."""
        return self._word is None and self._line[self._place : self._place + 2] == "[ "

    def _add(self, text: str, quoted: bool = False) -> None:
        if self._word is None:
            self._word = []
            self._is_quoted = False
            self._is_pattern = False
        self._word.append(text)
        self._is_quoted |= quoted

    def _escaped(self) -> bool:
        following = self._line[self._place + 1 : self._place + 2]
        self._place += 2
        if following == "\n":
            return True  # the line goes on
        if not following:
            return False
        self._add(following, quoted=True)
        return True

    def _single_quoted(self) -> bool:
        end = self._line.find("'", self._place + 1)
        if end < 0:
            return False
        self._add(self._line[self._place + 1 : end], quoted=True)
        self._place = end + 1
        return True

    def _double_quoted(self) -> bool:
        self._add("", quoted=True)
        place = self._place + 1
        while place < len(self._line):
            char = self._line[place]
            if char == '"':
                self._place = place + 1
                return True
            if char == "$" and (printed := self._printed(place)):
                self._add(printed, quoted=True)
                place += len(printed)
                continue
            if char in "$`":
                return False
            if char == "\\" and self._line[place + 1 : place + 2] in ("$", "`", '"', "\\", "\n"):
                place += 1
                char = self._line[place].replace("\n", "")
            self._add(char, quoted=True)
            place += 1
        return False

    def _redirection(self) -> bool:
        found = _HARMLESS_REDIRECTION.match(self._line, self._place)
        if not found:
            found = _INPUT.match(self._line, self._place)
            if not found or self._is_descriptor():
                return False
            self._inputs.append(found[1])
        elif self._is_descriptor() and not found[0].startswith("&"):
            self._word = None
        self._place = found.end()
        return self._end_word()

    def _is_descriptor(self) -> bool:
        word = "".join(self._word or ())
        return not self._is_quoted and word.isascii() and word.isdigit()

    def _operator(self) -> bool:
        found = _OPERATOR.match(self._line, self._place)
        if not found:
            return False
        self._place = found.end()
        return self._end_command(found[0])

    def _end_word(self) -> bool:
        if self._word is None:
            return True
        word, self._word = "".join(self._word), None
        if not self._words:
            if word in _AROUND_COMMANDS and not self._is_quoted and not self._inputs:
                self._is_around = not self._is_timed
                return self._is_around
            if word == "for" and not self._is_quoted and not self._is_timed:
                return self._loop()
            if word == "time" and not self._is_quoted and not self._inputs:
                self._is_timed = True
                return True
            if word in _RESERVED or not word or (self._is_timed and word.startswith("-")):
                return False
            self._is_timed = False
        if self._is_pattern:
            self._patterns.add(len(self._words))
        self._words.append(word)
        return True

    def _loop(self) -> bool:
        """Reads `for NAME in WORDS;`. Its variable is not understood where it is used."""
        found = _LOOP.match(self._line, self._place)
        if found:
            self._place = found.end()
        return found is not None

    def _end_command(self, operator: str) -> bool:
        if not self._end_word():
            return False
        if self._words:
            patterns, self._patterns = frozenset(self._patterns), set()
            words, inputs = tuple(self._words), tuple(self._inputs)
            self._commands.append(SimpleCommand(words, operator, patterns, inputs))
            self._words, self._inputs, self._is_around = [], [], False
            self._needs_more = operator in ("&&", "||", "|", "|&")
            return True
        if self._is_timed or self._inputs:
            return False
        if self._is_around:
            self._is_around = False
            return operator != "&"
        return operator in ("", "\n")  # False for an operator without a command before it
