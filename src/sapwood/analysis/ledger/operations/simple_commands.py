"""The simple commands that a command line ran, in order, for what they did to files.

The grammar is that of the permissions, which understands a line or says that it does not. What is
read here has happened already, so a line that is not understood is one command with an unknown
effect. A word that the shell expands is not `plain`, because its value is unknown.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from msgspec import Struct, structs

from sapwood import shell_grammar

_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
_PATTERN = re.compile(r"[*?\[]")
_MAX_NESTING = 3
_MAX_LINES = 1_024
"""Lines that are remembered: an agent runs the same ones again and again."""
_MAX_WORDS = 40
"""Words of a line that is not understood."""
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


@lru_cache(_MAX_LINES)
def simple_commands(line: str, depth: int = 0) -> tuple[SimpleCommand, ...]:
    """Returns the simple commands of a line in order; a `bash -c` is replaced by its commands.

    >>> [c.texts for c in simple_commands("cd app && sed -i 's/a b/c/' x.py | tee 'my log'")]
    [('cd', 'app'), ('sed', '-i', 's/a b/c/', 'x.py'), ('tee', 'my log')]
    >>> simple_commands("cat > a.txt <<'EOF'\\nhello\\nEOF")[0].redirects[1].text
    'hello\\n'
    """
    try:
        commands = list(_commands(shell_grammar.parse_script(line)))
    except shell_grammar.NotUnderstood:
        words = tuple(ShellWord(text, plain=False) for text in line.split()[:_MAX_WORDS])
        commands = [SimpleCommand(words)] if words else []
    found: list[SimpleCommand] = []
    for command in commands:
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


def _commands(
    script: shell_grammar.Script, before: str = "", depth: int = 0
) -> Iterator[SimpleCommand]:
    """Yields the commands of lists; `before` is the operator before the first."""
    for place, each in enumerate(script):
        ends = "&" if each.in_background else ";" if place + 1 < len(script) else ""
        operators = (*each.operators, ends)
        for pipeline, operator in zip(each.pipelines, operators, strict=True):
            for number, node in enumerate(pipeline, 1):
                after = "|" if number < len(pipeline) else operator
                yield from _node(node, before, after, depth)
                before = after


def _node(node: shell_grammar.Node, before: str, after: str, depth: int) -> Iterator[SimpleCommand]:
    match node:
        case shell_grammar.Simple():
            words = [
                *(_assignment(name, value) for name, _, value in node.assignments),
                *map(_word, node.words),
            ]
            silent = _is_silent(node.redirections, joins_errors=node.joins_errors)
            redirects = tuple(_redirects(node.redirections))
            yield SimpleCommand(tuple(words), redirects, before, after, depth, silent)
            return
        case shell_grammar.Compound():
            bodies, depth = node.bodies, depth + (node.kind == "(")
        case shell_grammar.Loop():
            bodies = (node.body,)
        case shell_grammar.Case():
            bodies = node.bodies
        case shell_grammar.Condition():
            bodies = ()
    for place, body in enumerate(bodies):
        yield from _commands(body, ";" if place else before, depth)
    if redirects := tuple(_redirects(node.redirections)):
        yield SimpleCommand((), redirects, "", after, depth)


def _assignment(name: str, value: shell_grammar.Word) -> ShellWord:
    word = _word(value)
    return ShellWord(f"{name}={word.text}", word.plain)


def _word(word: shell_grammar.Word) -> ShellWord:
    """A word as the user wrote it, without quotes."""
    text, plain = "", True
    for part in word:
        match part:
            case shell_grammar.PlainText():
                text += part.text
                plain &= part.quoted or not _PATTERN.search(part.text)
            case shell_grammar.Variable():
                text, plain = f"{text}${part.name}", False
            case shell_grammar.Braces():
                text, plain = f"{text}{{{','.join(part.options)}}}", False
            case shell_grammar.Arithmetic():
                text, plain = f"{text}$?", False
            case shell_grammar.Substitution():
                text, plain = f"{text}$(…)", False
    return ShellWord(text, plain)


def _redirects(found: Iterable[shell_grammar.Redirection]) -> Iterator[Redirect]:
    """Yields the files and texts that a command reads or writes, not those of its errors."""
    for each in found:
        target = _word(each.target)
        if each.operator == "<<":
            yield Redirect("<<", ShellWord(""), f"{target.text}\n" if target.text else "")
        elif each.operator != ">" or each.descriptor in ("", "1", "&"):
            yield Redirect(">>" if each.appends else each.operator, target)


def _is_silent(found: Iterable[shell_grammar.Redirection], *, joins_errors: bool) -> bool:
    """Whether the errors of a command go to /dev/null."""
    nowhere = {
        each.descriptor or "1"
        for each in found
        if each.operator == ">" and _word(each.target).text == "/dev/null"
    }
    return bool(nowhere & {"2", "&"}) or (joins_errors and "1" in nowhere)


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
