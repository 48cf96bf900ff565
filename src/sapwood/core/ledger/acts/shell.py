"""A command line, taken apart into the simple commands that it runs.

Tolerant rather than exact: it is read after the fact, to see which files a line touched, and a
part that cannot be understood is passed over. A word that the shell would have expanded is not
`plain`: nobody can say from the line alone what it became.
"""

import re
from collections.abc import Iterator

from msgspec import Struct, structs

__all__ = ["Redirect", "Simple", "Word", "simple_commands"]

_OPERATOR = re.compile(r"&&|\|\||;;|\|&|[;|&\n()]")
_REDIRECT = re.compile(r"(\d*|&)(>>|>\||>|<<<|<<-?|<)(&?)")
_BLANK = re.compile(r"(?:[ \t\r]|\\\n)+")
_RESERVED = frozenset("if then elif else fi while until do done esac time ! { }".split())
_NO_COMMAND = frozenset("for case select function [[".split())
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
_EXPANDED = frozenset("$`*?[")
_NESTED_MOST = 3


class Word(Struct, frozen=True):
    """One word, without its quotes. `plain` if it stands for itself."""

    text: str
    plain: bool = True


class Redirect(Struct, frozen=True):
    """Where output went or input came from; `text` is what a here-document holds."""

    operator: str
    target: Word
    text: str = ""


class Simple(Struct, frozen=True):
    """One simple command. `before` and `after` are the operators beside it.

    `depth` is in how many shells within the shell it ran, `silent` whether its complaints went
    nowhere.
    """

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()
    before: str = ""
    after: str = ""
    depth: int = 0
    silent: bool = False

    @property
    def texts(self) -> tuple[str, ...]:
        """Its words as they stand."""
        return tuple(word.text for word in self.words)


def simple_commands(line: str, depth: int = 0) -> tuple[Simple, ...]:
    """The simple commands of a line, in order; those of a `bash -c` in its place.

    >>> [c.texts for c in simple_commands("cd app && sed -i 's/a b/c/' x.py | tee 'my log'")]
    [('cd', 'app'), ('sed', '-i', 's/a b/c/', 'x.py'), ('tee', 'my log')]
    >>> simple_commands("cat > a.txt <<'EOF'\\nhello\\nEOF")[0].redirects[1].text
    'hello\\n'
    """
    found: list[Simple] = []
    for command in _Reader(line).read():
        inner = _script_of(command) if depth < _NESTED_MOST else None
        if inner is None:
            found.append(command)
        else:
            found += [_within(command, each) for each in simple_commands(inner, depth + 1)]
    return tuple(found)


def _within(outer: Simple, inner: Simple) -> Simple:
    """A command of a script as a command of the line that ran the script."""
    depth = outer.depth + 1 + inner.depth
    return structs.replace(inner, depth=depth, silent=outer.silent or inner.silent)


def _script_of(command: Simple) -> str | None:
    texts = command.texts
    if len(texts) < 3 or texts[0].rsplit("/", 1)[-1] not in _SHELLS:
        return None
    for place, text in enumerate(texts[1:-1], 1):
        if not text.startswith("-"):
            return None
        if text.endswith("c") and not text.startswith("--"):
            return texts[place + 1]
    return None


class _Reader:
    """Reads a line once, from left to right."""

    def __init__(self, line: str) -> None:
        self._line = line
        self._place = 0
        self._words: list[Word] = []
        self._redirects: list[Redirect] = []
        self._waiting: list[tuple[int, str, bool]] = []
        self._before = ""
        self._depth = 0
        self._nowhere: set[str] = set()

    def read(self) -> Iterator[Simple]:
        line = self._line
        while self._place < len(line):
            if blank := _BLANK.match(line, self._place):
                self._place = blank.end()
            elif line[self._place] == "#":
                end = line.find("\n", self._place)
                self._place = len(line) if end < 0 else end
            elif redirect := _REDIRECT.match(line, self._place):
                self._redirect(redirect)
            elif operator := _OPERATOR.match(line, self._place):
                self._place = operator.end()
                if operator[0] == "\n":
                    self._here_documents()
                yield from self._ended(operator[0])
                self._depth += operator[0] == "("
                self._depth -= operator[0] == ")" and self._depth > 0
            else:
                self._words.append(self._word())
        yield from self._ended("")

    def _ended(self, operator: str) -> Iterator[Simple]:
        while self._words and self._words[0].text in _RESERVED:
            self._words.pop(0)
        if self._words and self._words[0].text in _NO_COMMAND:
            self._words, self._redirects = [], []
        if self._words or self._redirects:
            yield Simple(
                tuple(self._words),
                tuple(self._redirects),
                self._before,
                operator,
                self._depth,
                silent="2" in self._nowhere,
            )
            self._words, self._redirects, self._nowhere = [], [], set()
            self._before = operator
        elif operator in ("&&", "||", "|"):
            self._before = operator

    def _redirect(self, found: re.Match[str]) -> None:
        self._place = found.end()
        if blank := _BLANK.match(self._line, self._place):
            self._place = blank.end()
        target = self._word()
        operator = found[2]
        if found[3]:  # joined with another descriptor
            if found[1] == "2" and target.text in self._nowhere:
                self._nowhere.add("2")
            return
        if operator.startswith(">") and target.text == "/dev/null":
            self._nowhere |= {"1", "2"} if found[1] == "&" else {found[1] or "1"}
        if operator.startswith("<<") and operator != "<<<":
            self._waiting.append((len(self._redirects), target.text, operator == "<<-"))
        if found[1] in ("", "1", "&") or operator.startswith("<"):
            self._redirects.append(Redirect(operator, target))

    def _here_documents(self) -> None:
        """Takes the lines that belong to the here-documents which the line above announced."""
        for index, end_mark, stripped in self._waiting:
            lines: list[str] = []
            while self._place < len(self._line):
                end = self._line.find("\n", self._place)
                end = len(self._line) if end < 0 else end
                row = self._line[self._place : end]
                self._place = end + 1
                if (row.lstrip("\t") if stripped else row).rstrip() == end_mark:
                    break
                lines.append(row + "\n")
            if index < len(self._redirects):
                old = self._redirects[index]
                self._redirects[index] = Redirect(old.operator, old.target, "".join(lines))
        self._waiting = []

    def _word(self) -> Word:
        line, text, plain = self._line, "", True
        while self._place < len(line):
            char = line[self._place]
            if char in " \t\r\n;|&<>()":
                break
            if char == "'":
                text += self._until("'")
            elif char == '"':
                inner, expanded = self._double_quoted()
                text += inner
                plain &= not expanded
            elif char == "\\":
                text += line[self._place + 1 : self._place + 2].replace("\n", "")
                self._place += 2
            elif line.startswith("$(", self._place):
                text += self._substitution()
                plain = False
            else:
                plain &= char not in _EXPANDED
                text += char
                self._place += 1
        return Word(text, plain)

    def _until(self, quote: str) -> str:
        end = self._line.find(quote, self._place + 1)
        end = len(self._line) if end < 0 else end
        inner = self._line[self._place + 1 : end]
        self._place = end + 1
        return inner

    def _double_quoted(self) -> tuple[str, bool]:
        line, text, expanded = self._line, "", False
        self._place += 1
        while self._place < len(line) and line[self._place] != '"':
            if line.startswith("$(", self._place):
                text += self._substitution()
                expanded = True
                continue
            if line[self._place] == "\\" and line[self._place + 1 : self._place + 2] in '"\\$`\n':
                self._place += 1
            else:
                expanded |= line[self._place] in "$`"
            text += line[self._place : self._place + 1]
            self._place += 1
        self._place += 1
        return text, expanded

    def _substitution(self) -> str:
        """All of `$(…)`, with what is nested in it."""
        depth, start = 0, self._place
        while self._place < len(self._line):
            char = self._line[self._place]
            depth += (char == "(") - (char == ")")
            self._place += 1
            if char == ")" and depth == 0:
                break
        return self._line[start : self._place]
