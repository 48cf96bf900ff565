"""What the words of a command line can be when it runs: the values of its variables. Pure.

A value is a text, a pattern that stands for names of files, or a mark for what is not known before
the line runs. The marks are characters that no command line contains.
"""

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from sapwood.shell_grammar import (
    Arithmetic,
    Braces,
    Case,
    Compound,
    Condition,
    Loop,
    Node,
    NotUnderstood,
    PlainText,
    Script,
    Simple,
    Substitution,
    Variable,
    Word,
)
from sapwood.workspace.permissions.printed_values import (
    A_NUMBER,
    ANY_TEXT,
    ANY_WORDS,
    MARKS,
    NOT_KNOWN,
    printed_lines,
)

_NUMBER = re.compile(f"[0-9{A_NUMBER}]*")
LET = re.compile(r"([a-z_][a-z0-9_]*)(?:\+\+|--|[+*-]?=\d+)", re.ASCII)
_MAX_VARIANTS = 60
_MAX_ROUNDS = 8
_PATTERN = frozenset("*?[")
_OWN_NAME = re.compile(
    r"(?!.*proxy|npm_|pnpm_|yarn_)[a-z_][a-z0-9_]{0,40}|[A-Z]|FILES?|DIRS?|BASE|COUNT|TOTAL|NUM|NAME|"
    r"SRC|HASH|COMMIT|SHA|BRANCH|TAG|START|END|RESULT|STATUS|MSG|FOUND|MISSING|LINE|FAILED|PASSED",
    re.ASCII,
)
"""Names that no program reads from its environment: a line may give them values."""
_PRINTED = frozenset(
    "PWD OLDPWD HOME USER LOGNAME PATH SHELL HOSTNAME LANG TERM COLUMNS LINES VIRTUAL_ENV NODE_ENV "
    "CI EDITOR SECONDS RANDOM LINENO BASH_VERSION OSTYPE UID".split()
)
"""Variables that say nothing private. They may be printed."""


class Value(Struct, frozen=True):
    """A text; with `is_pattern`, each name of a file that it matches."""

    text: str
    is_pattern: bool = False


class _Lines(Struct, frozen=True):
    """The lines that commands print."""

    nodes: tuple[Node, ...]


_UNKNOWN = (Value(ANY_TEXT),)


class Values:
    """The values that each variable of a script has anywhere in it."""

    def __init__(self, script: Script) -> None:
        self._assigned: dict[str, list[Word | _Lines | Value]] = {}
        self._found: dict[str, tuple[Value, ...]] = {}
        self._sure: set[str] = set()
        self._open: set[str] = set()
        self._known_reads: set[int] = set()
        self._outputs: dict[tuple[int, frozenset[tuple[str, tuple[Value, ...]]]], Value] = {}
        self._bound: dict[str, tuple[Value, ...]] = {}
        self.are_used = False
        for place in script:
            is_alone = not place.operators and len(place.pipelines[0]) == 1
            first = place.pipelines[0][0]
            if is_alone and not place.in_background and isinstance(first, Simple):
                if not first.words:
                    self._sure |= {name for name, is_added, _ in first.assignments if not is_added}
            else:
                break
        self._collect(script)

    def variants(self, words: Sequence[Word]) -> list[tuple[Value, ...]]:
        """Each sequence of words that these can become. Raises `NotUnderstood` if too many."""
        if all(len(word) == 1 and type(word[0]) is PlainText for word in words):
            return [tuple(self._word(word, {})[0] for word in words)]
        names = {part.name for word in words for part in word if isinstance(part, Variable)}
        choices = [self._of(name) for name in names]
        if math.prod(map(len, choices)) > _MAX_VARIANTS:
            raise NotUnderstood
        found: dict[tuple[Value, ...], None] = {}
        for chosen in itertools.product(*choices):
            given = dict(zip(names, chosen, strict=True))
            found[tuple(value for word in words for value in self._word(word, given))] = None
        return list(found)

    def iterations(self, loop: Loop) -> Iterator[None]:
        """Gives the variable of a loop its values, while its commands are looked at.

        Each known word is one round; all other values are one round together.
        """
        if len(self._assigned[loop.name]) != sum(1 for word in loop.words for _ in _listed(word)):
            yield  # it gets values elsewhere too
            return
        self._bound.pop(loop.name, None)
        self._of(loop.name)
        values = self._found[loop.name] or (Value(""),)
        is_inner = bool(self._bound)  # the rounds of nested loops would multiply
        are_known = (
            not is_inner
            and len(values) <= _MAX_ROUNDS
            and all(NOT_KNOWN.isdisjoint(value.text) and not value.is_pattern for value in values)
        )
        for each in ((value,) for value in values) if are_known else (values,):
            self._bound[loop.name] = each
            yield
        del self._bound[loop.name]

    def require_numbers(self, words: Sequence[Word]) -> None:
        """Raises `NotUnderstood` unless they are numbers: arithmetic runs commands in texts."""
        for word in words:
            for variant in self.variants([tuple(_quoted(part) for part in word)]):
                if not all(_NUMBER.fullmatch(value.text.strip("-")) for value in variant):
                    raise NotUnderstood

    def _word(self, word: Word, given: Mapping[str, Value]) -> list[Value]:
        """The words that one word becomes, with these values of variables."""
        if len(word) == 1 and isinstance(only := word[0], PlainText):
            return [Value(only.text, not only.quoted and not _PATTERN.isdisjoint(only.text))]
        if len(word) == 1 and isinstance(only := word[0], Variable) and not only.quoted:
            value = self._changed(only, given[only.name])
            if NOT_KNOWN.isdisjoint(value.text) and not value.is_pattern:
                return [_split(Value(text)) for text in value.text.split()]
        texts, is_pattern, is_removed = [""], False, bool(word)
        for part in word:
            match part:
                case PlainText():
                    is_pattern |= not part.quoted and not _PATTERN.isdisjoint(part.text)
                    value = Value(part.text)
                    is_removed &= not part.quoted and not part.text
                case Variable():
                    value = self._changed(part, given[part.name])
                    is_removed &= not part.quoted and not value.text
                    value = _split(value) if not part.quoted else value
                case Arithmetic():
                    self._require_arithmetic(part.names)
                    value, is_removed = Value(A_NUMBER), False
                case Substitution():
                    value = Value("/dev/stdin") if part.is_file else self._printed(part.body)
                    is_removed = False
                    value = _split(value) if not part.quoted else value
                case Braces():
                    texts = [text + option for text in texts for option in part.options]
                    if len(texts) > _MAX_VARIANTS:
                        raise NotUnderstood
                    is_removed = False
                    continue
            if value.text == ANY_WORDS:
                return [value]
            texts = [text + value.text for text in texts]
            is_pattern |= value.is_pattern
        return [] if is_removed else [Value(text, is_pattern) for text in texts]

    def _changed(self, part: Variable, value: Value) -> Value:
        if part.is_changed:
            return Value(ANY_TEXT)
        if part.default is not None and (not value.text or set(value.text) & MARKS):
            return Value(ANY_TEXT) if value.text else Value(part.default)
        return value

    def _printed(self, body: Script) -> Value:
        """What commands print, as one value."""
        key = (id(body), frozenset(self._bound.items()))
        if key not in self._outputs:
            lines = {v for place in body for each in place.pipelines for v in self.lines(each)}
            self._outputs[key] = lines.pop() if len(lines) == 1 else Value(ANY_TEXT)
        return self._outputs[key]

    def lines(self, nodes: Sequence[Node]) -> tuple[Value, ...]:
        """The lines that a pipeline prints, each as a value."""
        variants: list[list[tuple[Value, ...]]] = []
        for node in nodes:
            if not isinstance(node, Simple) or not node.words:
                return _UNKNOWN
            variants.append(self.variants(node.words))
        found: dict[Value, None] = {}
        for commands in itertools.islice(itertools.product(*variants), _MAX_VARIANTS + 1):
            texts = [tuple(value.text for value in words) for words in commands]
            has_patterns = any(value.is_pattern for value in commands[0])
            lines = (
                printed_lines(texts, has_patterns) if len(found) < _MAX_VARIANTS else (ANY_TEXT,)
            )
            found |= dict.fromkeys(Value(text, "*" in text) for text in lines)
        return tuple(found)

    def _of(self, name: str) -> tuple[Value, ...]:
        self.are_used = True
        if name == "_":
            raise NotUnderstood  # the shell sets it at each command
        if name in self._bound:
            return self._bound[name]
        if name not in self._assigned:
            if name == "PWD":
                return (Value("."),)
            if name in _PRINTED:
                return _UNKNOWN
            raise NotUnderstood
        if name in self._open:
            return _UNKNOWN  # its value depends on itself
        if name not in self._found:
            self._open.add(name)
            bound, self._bound = self._bound, {}
            found = dict.fromkeys(
                v for each in self._assigned[name] for v in self._assigned_by(each)
            )
            self._found[name] = tuple(found)
            self._bound = bound
            self._open.discard(name)
        is_set = name in self._sure or Value("") in self._found[name]
        return self._found[name] if is_set else (*self._found[name], Value(""))

    def _assigned_by(self, source: Word | _Lines | Value) -> Iterator[Value]:
        if isinstance(source, Value):
            yield source
        elif isinstance(source, _Lines):
            yield from self.lines(source.nodes)
        else:
            for variant in self.variants([source]):
                yield from (_one(value) for value in variant)

    def _require_arithmetic(self, names: Sequence[str]) -> None:
        for name in names:
            if name in self._open:
                continue  # n=$((n + 1)) is a number if all else that n is set to is one
            if name in _PRINTED or not all(_NUMBER.fullmatch(v.text) for v in self._of(name)):
                raise NotUnderstood

    # The places where variables get values

    def _collect(self, script: Script) -> None:
        for place in script:
            for nodes in place.pipelines:
                for number, node in enumerate(nodes):
                    self._collect_node(node, nodes[:number])

    def _collect_node(self, node: Node, before: tuple[Node, ...]) -> None:
        if isinstance(node, Compound) and node.kind == "while":
            self._read_lines(node, before)
        for body in (*_bodies(node), *substitutions(node)):
            self._collect(body)
        match node:
            case Simple():
                for name, is_added, word in node.assignments:
                    if not node.words:
                        value = tuple(_quoted(part) for part in word)
                        self._assign(name, Value(ANY_TEXT) if is_added else value)
                is_let = bool(node.words) and _text(node.words[0]) == "let"
                for word in node.words[1:] if is_let else ():
                    if (found := LET.fullmatch(_text(word))) is not None:
                        self._assign(found[1], Value(A_NUMBER))
                if (
                    node.words
                    and _text(node.words[0]) == "read"
                    and id(node) not in self._known_reads
                ):
                    self._read(node)
            case Loop():
                for word in node.words:
                    for source in _listed(word):
                        self._assign(node.name, source)
                if not node.words:
                    raise NotUnderstood
            case Condition():
                for word in node.words:
                    for part in word:
                        for name in part.names if isinstance(part, Arithmetic) else ():
                            self._assign(name, Value(A_NUMBER))
            case _:
                pass

    def _read_lines(self, loop: Compound, before: tuple[Node, ...]) -> None:
        """For `commands | while read name`, or `while read name; …; done < <(commands)`."""
        first = loop.bodies[0][0].pipelines[0][0]
        if not isinstance(first, Simple) or not first.words or _text(first.words[0]) != "read":
            return
        for redirection in loop.redirections:
            if not redirection.operator.startswith("<"):
                continue
            before = ()
            part = redirection.target[0] if len(redirection.target) == 1 else None
            if isinstance(part, Substitution) and part.is_file and len(part.body) == 1:
                before = part.body[0].pipelines[0] if not part.body[0].operators else ()
        texts = [_text(word) for word in first.words[1:]]
        names = [text for text in texts if text and not text.startswith("-")]
        is_whole = all(name == "IFS" and not word for name, _, word in first.assignments)
        if before and len(names) == 1 and is_whole:
            self._known_reads.add(id(first))
            self._assign(names[0], _Lines(before))

    def _read(self, node: Simple) -> None:
        for word in node.words[1:]:
            if _text(word) not in ("-r", "-d", "", "-rd"):
                self._assign(_text(word), Value(ANY_TEXT))

    def _assign(self, name: str, source: Word | _Lines | Value) -> None:
        if not _OWN_NAME.fullmatch(name):
            raise NotUnderstood
        self._assigned.setdefault(name, []).append(source)


def substitutions(node: Node) -> Iterator[Script]:
    """The commands whose output becomes a part of the words of this node itself."""
    words: list[Word] = [redirection.target for redirection in node.redirections]
    match node:
        case Simple():
            words += [*node.words, *(word for _, _, word in node.assignments)]
        case Loop() | Case() | Condition():
            words += node.words
        case Compound():
            pass
    for word in words:
        yield from (part.body for part in word if isinstance(part, Substitution))


def _bodies(node: Node) -> tuple[Script, ...]:
    match node:
        case Compound() | Case():
            return node.bodies
        case Loop():
            return (node.body,)
        case _:
            return ()


def _listed(word: Word) -> Iterator[Word | _Lines]:
    """The sources of a loop's values: a word, or each line that commands print."""
    if len(word) == 1 and isinstance(part := word[0], Substitution) and not part.quoted:
        for place in part.body:
            yield from (_Lines(nodes) for nodes in place.pipelines)
    else:
        yield word


def _quoted(
    part: PlainText | Variable | Arithmetic | Braces | Substitution,
) -> PlainText | Variable | Arithmetic | Braces | Substitution:
    """The same part where the shell does not split words: in assignments."""
    match part:
        case PlainText():
            return PlainText(part.text, True)
        case Variable():
            return Variable(part.name, True, part.is_changed, part.default)
        case Substitution():
            return Substitution(part.body, True, part.is_file)
        case _:
            return part


def _split(value: Value) -> Value:
    """A value outside of quotes, where the shell splits it and looks for files."""
    text = value.text
    if ANY_TEXT in text or ANY_WORDS in text or set(text) & set(" \t\n"):
        return Value(ANY_WORDS)
    return Value(text, value.is_pattern or bool(set("*?[") & set(text)))


def _one(value: Value) -> Value:
    """A value of a variable: any number of words is any text in it."""
    return Value(ANY_TEXT) if ANY_WORDS in value.text else value


def _text(word: Word) -> str:
    """The text of a word without expansions; a mark for another word."""
    if all(isinstance(part, PlainText) for part in word):
        return "".join(part.text for part in word if isinstance(part, PlainText))
    return ANY_TEXT
