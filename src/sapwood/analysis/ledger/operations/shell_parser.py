"""Parses a command line into the simple commands that it runs.

The parser is tolerant: it only has to show which files a line touched, and it skips parts that it
does not understand. A word that the shell expands is not `plain`, because its value is unknown.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

_OPERATOR = re.compile(r"&&|\|\||;;|\|&|[;|&\n()]")
_REDIRECT = re.compile(r"(\d*|&)(>>|>\||>|<<<|<<-?|<)(&?)")
_BLANK = re.compile(r"(?:[ \t\r]|\\\n)+")
_RESERVED = frozenset("if then elif else fi while until do done esac time ! { }".split())
_COMPOUND = frozenset("for case select function [[".split())
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
_EXPANDED = frozenset("$`*?[")
_MAX_NESTING = 3
_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*\+?=")
_WRAPPERS = frozenset(
    "sudo doas time nice nohup env command exec builtin timeout stdbuf xvfb-run unbuffer "
    "caffeinate dotenv cross-env".split()
)
_NUMBER = re.compile(r"^\d+(\.\d+)?[smhd]?$")


class ShellWord(Struct, frozen=True):
    """One word without its quotes. `plain` if the shell does not expand it."""

    text: str
    plain: bool = True


class Redirect(Struct, frozen=True):
    """A redirection; `text` is the content of a here-document."""

    operator: str
    target: ShellWord
    text: str = ""


class SimpleCommand(Struct, frozen=True):
    """One simple command. `before` and `after` are the operators around it.

    `depth` counts the subshells around it; `silent` if its error output goes to `/dev/null`.
    """

    words: tuple[ShellWord, ...]
    redirects: tuple[Redirect, ...] = ()
    before: str = ""
    after: str = ""
    depth: int = 0
    silent: bool = False

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of the words."""
        return tuple(word.text for word in self.words)


def simple_commands(line: str, depth: int = 0) -> tuple[SimpleCommand, ...]:
    """Returns the simple commands of a line in order; a `bash -c` is replaced by its commands.

    >>> [c.texts for c in simple_commands("cd app && sed -i 's/a b/c/' x.py | tee 'my log'")]
    [('cd', 'app'), ('sed', '-i', 's/a b/c/', 'x.py'), ('tee', 'my log')]
    >>> simple_commands("cat > a.txt <<'EOF'\\nhello\\nEOF")[0].redirects[1].text
    'hello\\n'
    """
    found: list[SimpleCommand] = []
    for command in _Parser(line).commands():
        inner = _script_of(command) if depth < _MAX_NESTING else None
        if inner is None:
            found.append(command)
        else:
            found += [_within(command, each) for each in simple_commands(inner, depth + 1)]
    return tuple(found)


def _within(outer: SimpleCommand, inner: SimpleCommand) -> SimpleCommand:
    """Returns a command of a script as a command of the line that ran the script."""
    depth = outer.depth + 1 + inner.depth
    return structs.replace(inner, depth=depth, silent=outer.silent or inner.silent)


def _script_of(command: SimpleCommand) -> str | None:
    texts = command.texts
    if len(texts) < 3 or texts[0].rsplit("/", 1)[-1] not in _SHELLS:
        return None
    for position, text in enumerate(texts[1:-1], 1):
        if not text.startswith("-"):
            return None
        if text.endswith("c") and not text.startswith("--"):
            return texts[position + 1]
    return None


class _Parser:
    """Parses a line in one pass from left to right."""

    def __init__(self, line: str) -> None:
        self._line = line
        self._position = 0
        self._words: list[ShellWord] = []
        self._redirects: list[Redirect] = []
        self._announced: list[tuple[int, str, bool]] = []
        self._before = ""
        self._depth = 0
        self._silenced: set[str] = set()

    def commands(self) -> Iterator[SimpleCommand]:
        line = self._line
        while self._position < len(line):
            if blank := _BLANK.match(line, self._position):
                self._position = blank.end()
            elif line[self._position] == "#":
                end = line.find("\n", self._position)
                self._position = len(line) if end < 0 else end
            elif redirect := _REDIRECT.match(line, self._position):
                self._redirect(redirect)
            elif operator := _OPERATOR.match(line, self._position):
                self._position = operator.end()
                if operator[0] == "\n":
                    self._here_documents()
                yield from self._command(operator[0])
                self._depth += operator[0] == "("
                self._depth -= operator[0] == ")" and self._depth > 0
            else:
                self._words.append(self._word())
        yield from self._command("")

    def _command(self, operator: str) -> Iterator[SimpleCommand]:
        while self._words and self._words[0].text in _RESERVED:
            self._words.pop(0)
        if self._words and self._words[0].text in _COMPOUND:
            self._words, self._redirects = [], []
        if self._words or self._redirects:
            yield SimpleCommand(
                tuple(self._words),
                tuple(self._redirects),
                self._before,
                operator,
                self._depth,
                silent="2" in self._silenced,
            )
            self._words, self._redirects, self._silenced = [], [], set()
            self._before = operator
        elif operator in ("&&", "||", "|"):
            self._before = operator

    def _redirect(self, found: re.Match[str]) -> None:
        self._position = found.end()
        if blank := _BLANK.match(self._line, self._position):
            self._position = blank.end()
        target = self._word()
        operator = found[2]
        if found[3]:  # duplicates another descriptor, as in 2>&1
            if found[1] == "2" and target.text in self._silenced:
                self._silenced.add("2")
            return
        if operator.startswith(">") and target.text == "/dev/null":
            self._silenced |= {"1", "2"} if found[1] == "&" else {found[1] or "1"}
        if operator.startswith("<<") and operator != "<<<":
            self._announced.append((len(self._redirects), target.text, operator == "<<-"))
        if found[1] in ("", "1", "&") or operator.startswith("<"):
            self._redirects.append(Redirect(operator, target))

    def _here_documents(self) -> None:
        """Reads the here-documents that the previous line announced."""
        for index, end_mark, stripped in self._announced:
            lines: list[str] = []
            while self._position < len(self._line):
                end = self._line.find("\n", self._position)
                end = len(self._line) if end < 0 else end
                row = self._line[self._position : end]
                self._position = end + 1
                if (row.lstrip("\t") if stripped else row).rstrip() == end_mark:
                    break
                lines.append(row + "\n")
            if index < len(self._redirects):
                old = self._redirects[index]
                self._redirects[index] = Redirect(old.operator, old.target, "".join(lines))
        self._announced = []

    def _word(self) -> ShellWord:
        line, text, plain = self._line, "", True
        while self._position < len(line):
            char = line[self._position]
            if char in " \t\r\n;|&<>()":
                break
            if char == "'":
                text += self._until("'")
            elif char == '"':
                inner, expanded = self._double_quoted()
                text += inner
                plain &= not expanded
            elif char == "\\":
                text += line[self._position + 1 : self._position + 2].replace("\n", "")
                self._position += 2
            elif line.startswith("$(", self._position):
                text += self._substitution()
                plain = False
            else:
                plain &= char not in _EXPANDED
                text += char
                self._position += 1
        return ShellWord(text, plain)

    def _until(self, quote: str) -> str:
        end = self._line.find(quote, self._position + 1)
        end = len(self._line) if end < 0 else end
        inner = self._line[self._position + 1 : end]
        self._position = end + 1
        return inner

    def _double_quoted(self) -> tuple[str, bool]:
        line, text, expanded = self._line, "", False
        self._position += 1
        while self._position < len(line) and line[self._position] != '"':
            if line.startswith("$(", self._position):
                text += self._substitution()
                expanded = True
                continue
            if (
                line[self._position] == "\\"
                and line[self._position + 1 : self._position + 2] in '"\\$`\n'
            ):
                self._position += 1
            else:
                expanded |= line[self._position] in "$`"
            text += line[self._position : self._position + 1]
            self._position += 1
        self._position += 1
        return text, expanded

    def _substitution(self) -> str:
        """Reads `$(…)`, with everything nested in it."""
        depth, start = 0, self._position
        while self._position < len(self._line):
            char = self._line[self._position]
            depth += (char == "(") - (char == ")")
            self._position += 1
            if char == ")" and depth == 0:
                break
        return self._line[start : self._position]


def without_wrappers(words: Sequence[ShellWord]) -> Sequence[ShellWord]:
    """Returns the words after assignments and wrappers such as `sudo`, `time` and `env`.

    >>> texts = lambda words: [word.text for word in words]
    >>> texts(without_wrappers([ShellWord(t) for t in "CI=1 timeout 60 pytest -q".split()]))
    ['pytest', '-q']
    """
    position, inside = 0, False
    while position < len(words):
        text = words[position].text
        if text.rsplit("/", 1)[-1] in _WRAPPERS:
            inside = True
        elif not (_ASSIGNMENT.match(text) or (inside and _is_option(text))):
            break
        position += 1
    return words[position:]


def _is_option(text: str) -> bool:
    return text.startswith("-") or bool(_NUMBER.match(text))


def changes_folder(command: SimpleCommand) -> bool:
    """Whether the command is a `cd` or `pushd`."""
    return [word.text for word in without_wrappers(command.words)[:1]] in (["cd"], ["pushd"])
