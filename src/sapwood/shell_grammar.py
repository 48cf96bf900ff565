"""Parses the part of bash's grammar whose meaning is known before it runs. Pure.

It reads lists, pipelines, groups, subshells, `if`, `while`, `for`, `case`, `[[ ]]`, arithmetic,
comments, redirections and here-documents, and words with quotes, variables and substitutions. It
raises `NotUnderstood` for all else: functions, arrays, `eval`-like expansions, descriptors. What it
accepts it reads as bash does; `tests/workspace/test_shell_commands.py` compares the two.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

_MAX_NESTING = 12
_RESERVED = frozenset(
    "if then elif else fi while until do done for case esac in select function coproc ! [[ ]] "
    "{ } time".split()
)
_END = r"(?=[\s;&|()<>]|$)"
_KEYWORD = re.compile(
    rf"(?:if|then|elif|else|fi|while|until|do|done|for|case|esac|\[\[|[{{}}!]){_END}"
)
_BLANK = re.compile(r"(?:[ \t]|\\\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=", re.ASCII)
_ARITHMETIC = re.compile(r"(?:[\w\s+*/%<>=!&|?:,^~-]|\$\w|\$\{\w+\}|\((?!\()|\)(?!\)))*", re.ASCII)
_FOR_ARITHMETIC = re.compile(r"\(\(([\w\s+*/%<>=!&|;,-]*)\)\)\s*;?\s*(?=do\s)", re.ASCII)
_BRACES = re.compile(r"\{([\w./+-]*(?:,[\w./+-]*)+)\}", re.ASCII)
_RANGE = re.compile(r"\{-?\d{1,6}\.\.-?\d{1,6}\}" + _END)
_CHANGED = re.compile(
    r"(?:(?P<default>:-)(?P<text>[\w ./,:+-]*)|%%?[^${}`'\"\\]*|##?[^${}`'\"\\]*|"
    r"//?[^${}`'\"\\]*|:\d+(?::\d+)?|[\^]{1,2}|,{1,2})\}",
    re.ASCII,
)
_HERE_MARK = re.compile(
    r"[ \t]*(?:'([^'\n]+)'|\"([^\"\n$`\\]+)\"|(\\?)([A-Za-z0-9_.-]+))" + _END, re.ASCII
)
_REDIRECTION = re.compile(r"(&>>?|[0-9]?(?:>>|>\||>|<<<|<<-|<<|<))", re.ASCII)
_DESCRIPTOR = re.compile(r"[0-9]?[<>]&(?:[0-9]|-)" + _END, re.ASCII)
_SEPARATOR = re.compile(r";(?!;)(?!&)|&(?![&>])")
_CASE_END = re.compile(r";;&|;;|;&")
_COMPARES_NUMBERS = frozenset("-eq -ne -lt -le -gt -ge".split())
_TIME = re.compile(r"time[ \t]+(?=[^ \t-])")
_IN_CONDITION = re.compile(r"&&|\|\||[()!<>](?=[ \t])")
_NUMBER_OF = re.compile(r"#\w+\}|PIPESTATUS\[\d\]\}", re.ASCII)
_ESCAPED = re.compile(r"'((?:[^'\\\n]|\\[nt\\'\"])*)'")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
_COMMON_NAME = re.compile(r"[A-Za-z0-9_./-]+", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_PLAIN = re.compile(r"[^ \t\n;&|<>()'\"\\$`{}]+")
_PLAIN_QUOTED = re.compile(r"[^\"\\$`]+")
_STARTS_BLANK = frozenset(" \t\\#")
_STARTS_REDIRECTION = frozenset("<>&0123456789")
_META = frozenset(" \t\n;&|<>()")


class NotUnderstood(Exception):
    """The line contains something whose effect is not known in advance."""


class PlainText(Struct, frozen=True):
    """Characters as they are. Unquoted ones can be a pattern of file names."""

    text: str
    quoted: bool = False


class Variable(Struct, frozen=True):
    """`$name`, or with `is_changed` a part of its value, as in `${name%.py}`.

    `default` is the text of `${name:-text}`.
    """

    name: str
    quoted: bool = False
    is_changed: bool = False
    default: str | None = None


class Arithmetic(Struct, frozen=True):
    """A value that is a number: `$((…))`, `$?`, `${#name}`. `names` are evaluated for it."""

    names: tuple[str, ...] = ()


class Braces(Struct, frozen=True):
    """`{a,b}`: several words."""

    options: tuple[str, ...]


class Substitution(Struct, frozen=True):
    """`$(…)`; with `is_file` `<(…)`, the name of a file with the output."""

    body: "Script"
    quoted: bool = False
    is_file: bool = False


Word = tuple[PlainText | Variable | Arithmetic | Braces | Substitution, ...]


class Redirection(Struct, frozen=True):
    """`>` or `<` with a file, or `<<` with a text that the command reads.

    `descriptor` is the number before the operator, `&` for both outputs, or empty. `>>` appends.
    """

    operator: str
    target: Word
    descriptor: str = ""
    appends: bool = False


class Simple(Struct, frozen=True):
    """A command: assignments (with their names), words, redirections.

    `joins_errors` if its errors go where its output goes: `2>&1`.
    """

    assignments: tuple[tuple[str, bool, Word], ...]
    words: tuple[Word, ...]
    redirections: Sequence[Redirection]
    joins_errors: bool = False


class Compound(Struct, frozen=True):
    """Lists that may run one after the other: a group, `if`. `kind` is its first word."""

    kind: str
    bodies: tuple["Script", ...]
    redirections: Sequence[Redirection] = ()


class Loop(Struct, frozen=True):
    """`for name in words`."""

    name: str
    words: tuple[Word, ...]
    body: "Script"
    redirections: Sequence[Redirection] = ()


class Case(Struct, frozen=True):
    """`case word in …`. `words` has the patterns too."""

    words: tuple[Word, ...]
    bodies: tuple["Script", ...]
    redirections: Sequence[Redirection] = ()


class Condition(Struct, frozen=True):
    """`[[ … ]]`, which runs only the substitutions in it, or `((…))`."""

    words: tuple[Word, ...]
    numbers: tuple[Word, ...] = ()
    redirections: Sequence[Redirection] = ()


Node = Simple | Compound | Loop | Case | Condition


class AndOr(Struct, frozen=True):
    """Pipelines joined by `&&` and `||`; `operators` stand between them."""

    pipelines: tuple[tuple[Node, ...], ...]
    operators: tuple[str, ...] = ()
    in_background: bool = False


Script = tuple[AndOr, ...]


def parse_script(line: str) -> Script:
    """The lists of commands of a line. Raises `NotUnderstood`.

    >>> len(parse_script("cd docs && make # build; ls"))
    1
    """
    if _CONTROL.search(line):
        raise NotUnderstood
    parser = _Parser(line)
    script = parser.script()
    parser.require_end()
    return script


class _Parser:
    """Reads a line from left to right, in one pass."""

    def __init__(self, line: str, depth: int = 0) -> None:
        self._line = line
        self._at = 0
        self._depth = depth
        self._here: list[tuple[str, bool, bool, list[Redirection]]] = []
        if depth > _MAX_NESTING:
            raise NotUnderstood

    def require_end(self) -> None:
        if self._at < len(self._line) or self._here:
            raise NotUnderstood

    # Lists

    def script(self, *ends: str) -> Script:
        """Reads lists up to one of the words, or `)`, `;;`, or the end of the line."""
        found: list[AndOr] = []
        self._depth += 1
        if self._depth > _MAX_NESTING:
            raise NotUnderstood
        while True:
            self._lines()
            if self._at >= len(self._line) or self._peek() == ")" or self._keyword() in ends:
                break
            if _CASE_END.match(self._line, self._at):
                break
            found.append(self._and_or())
            self._blank()
            if self._at < len(self._line) and self._peek() not in ")\n":
                separator = _SEPARATOR.match(self._line, self._at)
                if separator is None:
                    if _CASE_END.match(self._line, self._at):
                        break
                    raise NotUnderstood
                self._at = separator.end()
                if separator[0] == "&":
                    last = found.pop()
                    found.append(AndOr(last.pipelines, last.operators, True))
        self._depth -= 1
        return tuple(found)

    def _and_or(self) -> AndOr:
        pipelines, operators = [self._pipeline()], list[str]()
        while True:
            self._blank()
            operator = self._line[self._at : self._at + 2]
            if operator not in ("&&", "||"):
                return AndOr(tuple(pipelines), tuple(operators))
            self._at += 2
            self._lines()
            operators.append(operator)
            pipelines.append(self._pipeline())

    def _pipeline(self) -> tuple[Node, ...]:
        self._blank()
        if (found := _TIME.match(self._line, self._at)) is not None:
            self._at = found.end()
        while self._keyword() == "!":
            self._at += 1
            self._blank()
        nodes = [self._command()]
        while True:
            self._blank()
            if self._peek() != "|" or self._line.startswith("||", self._at):
                return tuple(nodes)
            self._at += 2 if self._line.startswith("|&", self._at) else 1
            self._lines()
            nodes.append(self._command())

    # Commands

    def _command(self) -> Node:
        self._blank()
        if self._line.startswith("((", self._at):
            return self._arithmetic_command()
        if self._peek() == "(":
            self._at += 1
            body = self._body()
            self._expect(")")
            return Compound("(", (body,), self._redirections())
        match self._keyword():
            case "":
                return self._simple()
            case "{":
                self._at += 1
                body = self._body("}")
                self._expect("}")
                return Compound("{", (body,), self._redirections())
            case "if":
                return self._if()
            case "while" | "until" as word:
                self._expect(word)
                test = self._body("do")
                return Compound("while", (test, self._do()), self._redirections())
            case "for":
                return self._for()
            case "case":
                return self._case()
            case "[[":
                return self._condition()
            case _:
                raise NotUnderstood

    def _body(self, *ends: str) -> Script:
        body = self.script(*ends)
        if not body:
            raise NotUnderstood
        return body

    def _if(self) -> Node:
        self._expect("if")
        bodies = [self._body("then")]
        self._expect("then")
        bodies.append(self._body("elif", "else", "fi"))
        while self._keyword() == "elif":
            self._expect("elif")
            bodies.append(self._body("then"))
            self._expect("then")
            bodies.append(self._body("elif", "else", "fi"))
        if self._keyword() == "else":
            self._expect("else")
            bodies.append(self._body("fi"))
        self._expect("fi")
        return Compound("if", tuple(bodies), self._redirections())

    def _do(self) -> Script:
        self._expect("do")
        body = self._body("done")
        self._expect("done")
        return body

    def _for(self) -> Node:
        self._expect("for")
        self._blank()
        found = None if self._here else _FOR_ARITHMETIC.match(self._line, self._at)
        if found is not None:
            self._at = found.end()
            value = (Arithmetic(tuple(_NAME.findall(found[1]))),)
            test: Script = (AndOr(((Condition((value,), (value,)),),)),)
            return Compound("while", (test, self._do()), self._redirections())
        name = self._match(_NAME)[0]
        self._blank()
        self._expect("in")
        words: list[Word] = []
        self._blank()
        while self._peek() not in ("", ";", "\n"):
            words.append(self._word())
            self._blank()
        if self._peek() == ";":
            self._at += 1
        self._lines()
        return Loop(name, tuple(words), self._do(), self._redirections())

    def _case(self) -> Node:
        self._expect("case")
        self._blank()
        words, bodies = [self._word()], list[Script]()
        self._lines()
        self._expect("in")
        while True:
            self._lines()
            if self._keyword() == "esac":
                self._at += 4
                return Case(tuple(words), tuple(bodies), self._redirections())
            if self._peek() == "(":
                self._at += 1
            while True:
                self._blank()
                words.append(self._word())
                self._blank()
                if self._peek() != "|":
                    break
                self._at += 1
            self._expect(")")
            bodies.append(self.script("esac"))
            if (end := _CASE_END.match(self._line, self._at)) is not None:
                self._at = end.end()
            elif self._keyword() != "esac":
                raise NotUnderstood

    def _condition(self) -> Node:
        self._expect("[[")
        words: list[Word] = []
        numbers: list[Word] = []
        compares = False
        while True:
            self._blank()
            if self._line.startswith("]]", self._at) and self._ends_word(self._at + 2):
                self._at += 2
                break
            if found := _IN_CONDITION.match(self._line, self._at):
                self._at = found.end()
                continue
            start = self._at
            word = self._word()
            text = self._line[start : self._at]
            if text in ("-v", "-R"):
                raise NotUnderstood
            if text in _COMPARES_NUMBERS:
                if compares or not words:
                    raise NotUnderstood
                numbers.append(words[-1])
                compares = True
            elif compares:
                numbers.append(word)
                compares = False
            words.append(word)
        if not words or compares:
            raise NotUnderstood
        return Condition(tuple(words), tuple(numbers), self._redirections())

    def _arithmetic_command(self) -> Node:
        self._at += 2
        value = (self._arithmetic(),)
        return Condition((value,), (value,), self._redirections())

    def _simple(self) -> Node:
        assignments: list[tuple[str, bool, Word]] = []
        words: list[Word] = []
        redirections: list[Redirection] = []
        joins_errors = False
        while True:
            self._blank()
            joins_errors |= self._line.startswith("2>&1", self._at)
            if self._redirection(redirections):
                continue
            if self._peek() in ("", "\n", ";", "&", "|", ")"):
                break
            found = None if words else _ASSIGNMENT.match(self._line, self._at)
            if found is not None:
                self._at = found.end()
                value = () if self._ends_word(self._at) else self._word()
                if any(isinstance(part, Braces) for part in value):
                    raise NotUnderstood
                assignments.append((found[1], bool(found[2]), value))
                continue
            words.append(self._word())
            if len(words) == 1:
                _require_plain_name(words[0])
            if self._peek() in ("<", ">") and _plain_text(words[-1]).isdigit():
                raise NotUnderstood  # a descriptor of several digits
        if not words and not assignments:
            raise NotUnderstood
        return Simple(tuple(assignments), tuple(words), redirections, joins_errors)

    # Redirections

    def _redirections(self) -> list[Redirection]:
        """The redirections after a compound command. Texts are added when their lines are read."""
        found: list[Redirection] = []
        while True:
            self._blank()
            if not self._redirection(found):
                return found

    def _redirection(self, found: list[Redirection]) -> bool:
        """Reads a redirection, if there is one here."""
        if self._peek() not in _STARTS_REDIRECTION:
            return False
        if (descriptor := _DESCRIPTOR.match(self._line, self._at)) is not None:
            self._at = descriptor.end()
            return True
        match = _REDIRECTION.match(self._line, self._at)
        if match is None:
            return False
        operator = match[1].lstrip("0123456789")
        if self._line.startswith("(", match.end()) and match[1] == "<":
            return False  # a word: <(…)
        self._at = match.end()
        if operator in ("<<", "<<-"):
            mark = self._match(_HERE_MARK)
            is_raw = mark[4] is None or bool(mark[3])
            text = mark[1] or mark[2] or mark[4]
            self._here.append((text, is_raw, operator == "<<-", found))
            return True
        if self._peek() in ("&", ">", "<", "("):
            raise NotUnderstood
        self._blank()
        target = self._word()
        if any(isinstance(part, Braces) for part in target):
            raise NotUnderstood
        is_input = operator == "<" and match[1] != "<" and match[1] != "0<"
        if is_input:
            raise NotUnderstood  # another descriptor
        found.append(
            Redirection(
                ">" if ">" in operator else operator,
                target,
                "&" if match[1].startswith("&") else match[1].removesuffix(operator),
                ">>" in operator,
            )
        )
        return True

    def _here_documents(self) -> None:
        """Reads the texts of the here-documents that the line before announced."""
        announced, self._here = self._here, []
        for mark, is_raw, is_stripped, found in announced:
            rows: list[str] = []
            while True:
                if self._at >= len(self._line):
                    raise NotUnderstood
                end = self._line.find("\n", self._at)
                end = len(self._line) if end < 0 else end
                row = self._line[self._at : end]
                self._at = min(end + 1, len(self._line))
                if (row.lstrip("\t") if is_stripped else row) == mark:
                    break
                if not is_raw and row.endswith("\\"):
                    raise NotUnderstood
                rows.append(row)
            text = "\n".join(rows)
            word: Word = (PlainText(text, True),)
            if not is_raw:
                word = _Parser(text, self._depth + 1).here_text()
            found.append(Redirection("<<", word))

    def here_text(self) -> Word:
        """The parts of a here-document in which the shell replaces variables."""
        parts: list[PlainText | Variable | Arithmetic | Braces | Substitution] = []
        self._quoted_parts(parts, "")
        return tuple(parts)

    # Words

    def _word(self) -> Word:
        parts: list[PlainText | Variable | Arithmetic | Braces | Substitution] = []
        start = self._at
        while self._at < len(self._line):
            char = self._line[self._at]
            if char == "<" and self._at == start and self._line.startswith("<(", start):
                self._at += 2
                parts.append(Substitution(self._substituted(), True, True))
                if not self._ends_word(self._at):
                    raise NotUnderstood
                break
            if char in _META:
                break
            self._part(char, parts)
        if self._at == start:
            raise NotUnderstood
        return tuple(parts)

    def _part(
        self, char: str, parts: list[PlainText | Variable | Arithmetic | Braces | Substitution]
    ) -> None:
        if char == "'":
            parts.append(PlainText(self._until("'"), True))
        elif char == '"':
            self._at += 1
            parts.append(PlainText("", True))
            self._quoted_parts(parts, '"')
        elif char == "\\":
            following = self._line[self._at + 1 : self._at + 2]
            if not following:
                raise NotUnderstood
            self._at += 2
            if following != "\n":
                parts.append(PlainText(following, True))
        elif char in "$`":
            parts.append(self._expansion(False))
        elif char in "{}":
            parts.append(self._braces())
        else:
            plain = self._match(_PLAIN)
            if not plain[0].isprintable():
                raise NotUnderstood
            parts.append(PlainText(plain[0]))

    def _braces(self) -> PlainText | Braces:
        if self._line.startswith("{}", self._at) and self._ends_word(self._at + 2):
            self._at += 2
            return PlainText("{}", True)
        if (found := _RANGE.match(self._line, self._at)) is not None:
            self._at = found.end()
            return Braces(("1", "2"))
        found = self._match(_BRACES)
        return Braces(tuple(found[1].split(",")))

    def _quoted_parts(
        self, parts: list[PlainText | Variable | Arithmetic | Braces | Substitution], end: str
    ) -> None:
        """Reads up to the quote, or the whole text of a here-document."""
        start = self._at
        while self._at < len(self._line):
            char = self._line[self._at]
            if end and char == end:
                if self._here and "\n" in self._line[start : self._at]:
                    raise NotUnderstood
                self._at += 1
                return
            if (plain := _PLAIN_QUOTED.match(self._line, self._at)) is not None:
                parts.append(PlainText(plain[0], True))
                self._at = plain.end()
                continue
            if char in "$`":
                parts.append(self._expansion(True))
                continue
            if char == "\\":
                following = self._line[self._at + 1 : self._at + 2]
                if following and following in ("$`\\\n" + end):
                    self._at += 1
                    char = following.replace("\n", "")
            parts.append(PlainText(char, True))
            self._at += 1
        if end:
            raise NotUnderstood

    def _until(self, quote: str) -> str:
        end = self._line.find(quote, self._at + 1)
        text = self._line[self._at + 1 : end]
        if end < 0 or (self._here and "\n" in text):
            raise NotUnderstood
        self._at = end + 1
        return text

    def _expansion(self, quoted: bool) -> PlainText | Variable | Arithmetic | Substitution:
        line = self._line
        if line[self._at] == "`":
            text = self._until("`")
            if "\\" in text or not text.strip():
                raise NotUnderstood
            parser = _Parser(text, self._depth + 1)
            body = parser._body()
            parser.require_end()
            return Substitution(body, quoted)
        if line.startswith("$((", self._at):
            self._at += 3
            return self._arithmetic()
        if line.startswith("$(", self._at):
            self._at += 2
            return Substitution(self._substituted(), quoted)
        self._at += 1
        following = line[self._at : self._at + 1]
        if following and following in "?#!$":
            self._at += 1
            return Arithmetic()
        if following == "{":
            self._at += 1
            return self._parameter(quoted)
        if (name := _NAME.match(line, self._at)) is not None:
            self._at = name.end()
            if line.startswith("\\\n", self._at):
                raise NotUnderstood  # the name continues in the next line
            return Variable(name[0], quoted)
        if following == "'" and not quoted:
            found = self._match(_ESCAPED)
            return PlainText(_ESCAPE.sub(lambda each: _ESCAPES[each[1]], found[1]), True)
        if following and (following in "'@*-_\\[" or following.isdigit()):
            raise NotUnderstood
        if following == '"' and not quoted:
            raise NotUnderstood
        return PlainText("$", True)

    def _parameter(self, quoted: bool) -> Variable | Arithmetic:
        """`${…}`."""
        if found := _NUMBER_OF.match(self._line, self._at):
            self._at = found.end()
            return Arithmetic()
        name = self._match(_NAME)[0]
        if self._peek() == "}":
            self._at += 1
            return Variable(name, quoted)
        found = self._match(_CHANGED)
        return Variable(name, quoted, found["default"] is None, found["text"])

    def _arithmetic(self) -> Arithmetic:
        text = self._match(_ARITHMETIC)[0]
        self._expect("))")
        depth = 0
        for char in text:
            depth += (char == "(") - (char == ")")
            if depth < 0:
                raise NotUnderstood  # two groups: $((a)|(b))
        if depth:
            raise NotUnderstood
        names = _NAME.findall(re.sub(r"\b(?:0[xX])?\d\w*", "", text))
        return Arithmetic(tuple(names))

    def _substituted(self) -> Script:
        """Reads the commands of `$(…` or `<(…` and its end."""
        here, self._here = self._here, []
        start = self._at
        body = self._body()
        self._expect(")")
        if self._here or (here and "\n" in self._line[start : self._at]):
            raise NotUnderstood
        self._here = here
        return body

    # Characters

    def _blank(self) -> None:
        """Skips spaces, and a comment."""
        start = self._at
        if self._peek() not in _STARTS_BLANK:
            return
        if (found := _BLANK.match(self._line, self._at)) is not None:
            self._at = found.end()
        is_start = self._at == 0 or self._line[self._at - 1] in _META or self._at > start
        if is_start and (found := _COMMENT.match(self._line, self._at)) is not None:
            self._at = found.end()

    def _lines(self) -> None:
        """Skips spaces, comments and ends of lines."""
        while True:
            self._blank()
            if self._peek() != "\n":
                return
            self._at += 1
            self._here_documents()

    def _peek(self) -> str:
        return self._line[self._at : self._at + 1]

    def _ends_word(self, at: int) -> bool:
        return at >= len(self._line) or self._line[at] in _META

    def _keyword(self) -> str:
        found = _KEYWORD.match(self._line, self._at)
        return found[0] if found else ""

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        found = pattern.match(self._line, self._at)
        if found is None:
            raise NotUnderstood
        self._at = found.end()
        return found

    def _expect(self, text: str) -> None:
        if not self._line.startswith(text, self._at):
            raise NotUnderstood
        self._at += len(text)
        if text.isalpha() and not self._ends_word(self._at):
            raise NotUnderstood


def _plain_text(word: Word) -> str:
    """The text of a word without quotes and expansions; '' for another one."""
    if all(isinstance(part, PlainText) and not part.quoted for part in word):
        return "".join(part.text for part in word if isinstance(part, PlainText))
    return ""


def _require_plain_name(word: Word) -> None:
    """The name of a command has to be known, and to be no word of the shell's grammar."""
    only = word[0] if len(word) == 1 else None
    is_common = (
        isinstance(only, PlainText) and not only.quoted and _COMMON_NAME.fullmatch(only.text)
    )
    if is_common and is_common[0] not in _RESERVED:
        return
    text = "".join(part.text for part in word if isinstance(part, PlainText))
    plain = _plain_text(word)
    is_pattern = any(
        isinstance(part, PlainText) and not part.quoted and set(part.text) & set("*?[]~")
        for part in word
    )
    if (
        not text
        or any(not isinstance(part, PlainText) for part in word)
        or plain in _RESERVED
        or (is_pattern and plain != "[")
        or _ASSIGNMENT.match(text)
        or text.startswith(("=", "^"))
    ):
        raise NotUnderstood
