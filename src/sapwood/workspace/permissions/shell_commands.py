"""Finds the simple commands that a shell command line runs. Pure.

The result is complete: it contains every command that the line can start, with its words as they
can be when it runs, or is None. Words that are known only at run time contain a mark
(`shell_values.py`).
"""

import posixpath
import re
import shlex
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from sapwood.shell_grammar import (
    Arithmetic,
    Case,
    Compound,
    Condition,
    Loop,
    Node,
    NotUnderstood,
    PlainText,
    Redirection,
    Script,
    Simple,
    Variable,
    Word,
    parse_script,
)
from sapwood.workspace.permissions.printed_values import (
    ANY_TEXT,
    ANY_WORDS,
    MARKS,
    NOT_KNOWN,
    SOME_FILE,
)
from sapwood.workspace.permissions.shell_values import LET, Value, Values, substitutions

_MAX_COMMANDS = 200
_MAX_LINE = 200_000
_DEVICES = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr"))
HARMLESS_VARIABLE = re.compile(
    r"(?:CI|NODE_ENV|APP_ENV|RAILS_ENV|RACK_ENV|FLASK_ENV|FLASK_DEBUG|RUST_BACKTRACE|RUST_LOG|LANG|"
    r"LC_[A-Z]+|TZ|NO_COLOR|FORCE_COLOR|CLICOLOR|COLUMNS|LINES|PYTHONUNBUFFERED|PYTHONHASHSEED|"
    r"PYTHONDONTWRITEBYTECODE|GOOS|GOARCH|CGO_ENABLED|PORT|LOG_LEVEL|DEBUG|VERBOSE|TERM|PY_COLORS|"
    r"CARGO_TERM_COLOR|CARGO_INCREMENTAL|RUST_TEST_THREADS|PYTEST_DISABLE_PLUGIN_AUTOLOAD|"
    r"GIT_OPTIONAL_LOCKS|NODE_NO_WARNINGS)"
    r"=[A-Za-z0-9_.:,*-]*|PYTHONPATH=(?:src|lib|\.)|(?:GIT_)?PAGER=cat|"
    r"PYTHONWARNINGS=(?:ignore|default|always|error)",
    re.ASCII,
)
"""Variables that name neither programs nor files, with a plain value, before a command."""
_FOLDER_COMMANDS = frozenset("cd pushd popd builtin command eval source . exec trap".split())
"""Commands of the shell that change its folder, or may run `cd`."""
_CHANGES_VARIABLES = frozenset(
    "export declare typeset local readonly unset mapfile readarray getopts eval source . builtin "
    "command shift trap exec alias unalias enable shopt".split()
)


class SimpleCommand(Struct, frozen=True):
    """The words of one command.

    `patterns` are the places of words that the shell replaces by the names of files, `inputs` and
    `outputs` the files that it reads with `<` and writes with `>`. `folder` is where it runs, from
    the folder of the line on; None if unsure.
    """

    words: tuple[str, ...]
    patterns: frozenset[int] = frozenset()
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    folder: str | None = "."

    @property
    def text(self) -> str:
        """The command in one canonical form: one space between words, quoted where needed."""
        return shlex.join(self.words)

    @property
    def is_known(self) -> bool:
        """Whether every word is known before the line runs."""
        return NOT_KNOWN.isdisjoint("".join(self.words))

    def folder_from(self, folder: str) -> str | None:
        """Where it runs, if the line runs in this folder."""
        if self.folder is None or self.folder == ".":
            return None if self.folder is None else folder
        return self.folder if folder == "." else f"{folder}/{self.folder}"


@lru_cache(maxsize=16)
def simple_commands(line: str) -> tuple[SimpleCommand, ...] | None:
    """Each simple command of the line; None if the line is not understood.

    >>> [each.text for each in simple_commands("git add . && git commit -m 'a; b' 2>/dev/null")]
    ['git add .', "git commit -m 'a; b'"]
    >>> [each.text for each in simple_commands("for x in a b; do (ls $x); done")]
    ['ls a', 'ls b']
    >>> [each.folder for each in simple_commands("make; cd docs && make html | tail; ls")]
    ['.', '.', 'docs', 'docs', None]
    >>> simple_commands("f() { rm -rf .; }; f") is None
    True
    """
    if len(line) > _MAX_LINE:
        return None
    try:
        script = parse_script(line)
        search = _Search(script)
        search.script(script)
    except (NotUnderstood, RecursionError):
        return None
    return search.found()


def exec_parts(words: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """The words of a `find` without `-exec … ;`, and the commands that it runs.

    >>> exec_parts(["find", "src", "-exec", "wc", "-l", "{}", "+"])
    (['find', 'src'], [['wc', '-l', '{}']])
    """
    rest, commands, place = list[str](), list[list[str]](), 0
    while place < len(words):
        ends = (n for n in range(place + 1, len(words)) if _ends_exec(words, n))
        end = next(ends, None)
        if words[place] != "-exec" or end is None or end == place + 1:
            rest.append(words[place])
            place += 1
            continue
        commands.append(list(words[place + 1 : end]))
        place = end + 1
    return rest, commands


def _ends_exec(words: Sequence[str], place: int) -> bool:
    return words[place] == ";" or (words[place] == "+" and words[place - 1] == "{}")


_XARGS_OPTION = re.compile(r"-[0rt]+|-[nPL]\d+|--null|--no-run-if-empty")
_XARGS_VALUE = re.compile(r"-[nPLd]")


def xargs_command(words: Sequence[str]) -> tuple[str, ...]:
    """The command that `xargs` runs, with `{}` where the lines come in; () if it is not clear.

    >>> xargs_command(["xargs", "-0", "wc", "-l"]), xargs_command(["xargs", "-a", "list", "rm"])
    (('wc', '-l', '{}'), ())
    """
    place, given = 1, ""
    while place < len(words) and words[place].startswith("-"):
        if words[place] == "-I" and place + 1 < len(words):
            given, place = words[place + 1], place + 2
        elif re.fullmatch(r"-I\S+", words[place]):
            given, place = words[place][2:], place + 1
        elif _XARGS_OPTION.fullmatch(words[place]):
            place += 1
        elif _XARGS_VALUE.fullmatch(words[place]):
            place += 2
        else:
            return ()
    run = tuple(words[place:])
    if not run or not NOT_KNOWN.isdisjoint("".join(words)) or (given and given in run[0]):
        return ()
    return tuple(word.replace(given, "{}") for word in run) if given else (*run, "{}")


class _Search:
    """Goes through a script and keeps its commands and the folder in which they run."""

    def __init__(self, script: Script) -> None:
        self._values = Values(script)
        self._commands: dict[SimpleCommand, None] = {}
        self._folder: str | None = "."
        self._inputs: tuple[str, ...] = ()
        self._outputs: tuple[str, ...] = ()
        self._changes_variables = False

    def found(self) -> tuple[SimpleCommand, ...] | None:
        if not self._commands or (self._changes_variables and self._values.are_used):
            return None
        return tuple(self._commands)

    def script(self, script: Script) -> None:
        for place in script:
            before = self._folder
            for number, nodes in enumerate(place.pipelines):
                if number and place.operators[number - 1] == "||" and self._folder != before:
                    self._folder = None
                self._pipeline(nodes)
            if self._folder != before:
                self._folder = before if place.in_background else None

    def _pipeline(self, nodes: tuple[Node, ...]) -> None:
        for number, node in enumerate(nodes):
            before = self._folder
            self._node(node)
            if isinstance(node, Simple) and node.words[:1] == ((PlainText("xargs"),),):
                self._add_fed(node, nodes[:number])
            if len(nodes) > 1:
                self._folder = before

    def _node(self, node: Node) -> None:
        for body in substitutions(node):
            self._apart(body)
        if isinstance(node, Simple):
            self._simple(node)
            return
        inputs, outputs = self._inputs, self._outputs
        found_in, found_out = self._files(node.redirections)
        self._inputs, self._outputs = (*inputs, *found_in), (*outputs, *found_out)
        match node:
            case Condition():
                self._values.variants([_unsplit(word) for word in node.words])
                self._values.require_numbers(node.numbers)
                self._add(SimpleCommand((":",)))
            case Compound(kind="("):
                self._apart(node.bodies[0])
            case Compound() | Case():
                for word in node.words if isinstance(node, Case) else ():
                    self._values.variants([_unsplit(word)])
                self._bodies(node.bodies)
            case Loop():
                for word in node.words:
                    self._values.variants([word])
                for _ in self._values.iterations(node):
                    self._bodies((node.body,))
        self._inputs, self._outputs = inputs, outputs

    def _apart(self, body: Script) -> None:
        """Commands in a shell of their own, whose folder is not that of what follows."""
        before = self._folder
        self.script(body)
        self._folder = before

    def _bodies(self, bodies: Sequence[Script]) -> None:
        """Commands that run once, several times or not at all."""
        before, commands = self._folder, dict(self._commands)
        is_same = True
        for body in bodies:
            self.script(body)
            is_same &= self._folder == before
        if not is_same:
            self._commands, self._folder = commands, None
            for body in bodies:
                self._folder = None
                self.script(body)
            self._folder = None

    def _simple(self, node: Simple) -> None:
        inputs, outputs = self._files(node.redirections)
        if not node.words:
            if node.redirections:
                raise NotUnderstood
            for _, _, word in node.assignments:
                self._values.variants([_unsplit(word)])
            self._add(SimpleCommand((":",)))
            return
        variants = self._values.variants(node.words)
        for variant in variants:
            words = tuple(value.text for value in variant)
            self._require_prefix(node, words[0])
            self._require_builtin(words)
            patterns = frozenset(n for n, value in enumerate(variant) if value.is_pattern)
            self._add(SimpleCommand(words, patterns, inputs, outputs))
            self._add_executed(words)
        name = variants[0][0].text
        is_question = name == "command" and node.words[1:2] == ((PlainText("-v"),),)
        if name in _FOLDER_COMMANDS and not is_question:
            self._folder = self._entered(variants[0]) if len(variants) == 1 else None

    def _add(self, command: SimpleCommand) -> None:
        inputs = (*self._inputs, *command.inputs)
        outputs = (*self._outputs, *command.outputs)
        self._commands[
            SimpleCommand(command.words, command.patterns, inputs, outputs, self._folder)
        ] = None
        if len(self._commands) > _MAX_COMMANDS:
            raise NotUnderstood

    def _add_executed(self, words: tuple[str, ...]) -> None:
        """The commands that `find -exec` runs."""
        if words[0].rpartition("/")[2] != "find":
            return
        end = next((n for n, word in enumerate(words) if n and word[:1] in "-!("), len(words))
        for command in exec_parts(words)[1]:
            for start in words[1:end] or (".",):
                file = f"{start.rstrip('/')}/{SOME_FILE}"
                run = tuple(word.replace("{}", file) for word in command)
                if set(run[0]) & MARKS:
                    raise NotUnderstood
                self._add(SimpleCommand(run))

    def _add_fed(self, node: Simple, before: tuple[Node, ...]) -> None:
        """The command that `xargs` runs with what the commands before it print."""
        known = self._values.lines(before) if before and not node.redirections else ()
        for variant in self._values.variants(node.words):
            run = xargs_command([value.text for value in variant])
            for line in known or (Value(ANY_TEXT),) if run else ():
                # Names with spaces are looked up; other text can be any number of words.
                text = ANY_WORDS if ANY_TEXT in line.text else line.text
                self._add(SimpleCommand(tuple(word.replace("{}", text) for word in run)))

    def _files(
        self, redirections: Sequence[Redirection]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The files that are read and written."""
        inputs: list[str] = []
        outputs: list[str] = []
        for each in redirections:
            for variant in self._values.variants([each.target]):
                if each.operator in ("<<", "<<<"):
                    continue
                path = variant[0].text if len(variant) == 1 else ""
                if not path:
                    continue  # the shell refuses it
                if each.operator == ">" and path not in _DEVICES:
                    outputs.append(path)
                elif each.operator == "<" and path not in ("/dev/null", "/dev/stdin"):
                    inputs.append(path)
        return tuple(inputs), tuple(outputs)

    def _require_prefix(self, node: Simple, name: str) -> None:
        """Only harmless variables may be set for a command."""
        for variable, is_added, word in node.assignments:
            text = "".join(part.text for part in word if isinstance(part, PlainText))
            is_plain = all(isinstance(part, PlainText) for part in word) and not is_added
            is_for_read = variable == "IFS" and name == "read"
            if not is_plain or not (
                is_for_read or HARMLESS_VARIABLE.fullmatch(f"{variable}={text}")
            ):
                raise NotUnderstood

    def _require_builtin(self, words: tuple[str, ...]) -> None:
        """Refuses commands of the shell whose arguments it evaluates."""
        name = words[0]
        is_harmless = name == "export" and all(map(HARMLESS_VARIABLE.fullmatch, words[1:]))
        is_harmless |= words[:2] == ("command", "-v")
        if (name in _CHANGES_VARIABLES and not is_harmless) or words[:2] in (
            ("set", "--"),
            ("printf", "-v"),
        ):
            self._changes_variables = True
        for word in words[1:] if name == "let" else ():
            found = LET.fullmatch(word)
            if found is None:
                raise NotUnderstood
            self._values.require_numbers([(Arithmetic((found[1],)),)])

    def _entered(self, values: tuple[Value, ...]) -> str | None:
        """The folder after `cd WORD`; None for all that is not a plain path below the line's."""
        if self._folder is None or len(values) != 2 or values[0].text != "cd":
            return None
        path = values[1].text
        is_plain = not set(path) & (MARKS | set("*?["))
        if path.startswith(("/", "~", "-")) or not is_plain or not path:
            return None
        entered = posixpath.normpath(posixpath.join(self._folder, path))  # as the shell does it
        return None if entered.startswith("..") else entered


def _unsplit(word: Word) -> Word:
    """A word that the shell does not split."""
    return tuple(
        Variable(part.name, True, part.is_changed, part.default)
        if isinstance(part, Variable)
        else part
        for part in word
    )
