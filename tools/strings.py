"""`just strings`: every sentence that a person can meet, with its place.

These are the texts in the code that read as prose, and the docstrings that are help pages. Other
docstrings, patterns, SQL and words that only models read are left out. `just strings --sample 100
--seed 7` prints a random hundred, to be read as a stranger would.
"""

import argparse
import ast
import random
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

_ROOT = Path(__file__).parents[1]
_HELP_FOLDERS = ("cli/commands/", "cli/root.py", "_server/commands/", "sapwood_acp/")
"""Where the docstring of a function is its help page."""
_PROSE = re.compile(r"[A-Za-z'’]+ [a-z'’]+ [A-Za-z'’(]+|^[A-Z][a-z]+ [a-z]+[.:!?]?$")
_NOT_PROSE = re.compile(
    r"\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE|WHERE|PRAGMA|VALUES|ALTER|GRANT|ORDER BY)\b"
    r"|\\[bdsSwW]|\(\?|[{}];|</?[a-z]+"
)
_FIELD = re.compile(r"\{\w+(?:[!:][^{}]*)?\}")
_SQL_START = re.compile(r"\s*(?:AND|OR|ON|SET|FROM|JOIN|LIMIT|WITH|LEFT|INTO|GROUP|HAVING)\b")


class Sentence(NamedTuple):
    """A text and where it stands."""

    path: Path
    line: int
    text: str


def sentences(path: Path) -> Iterator[Sentence]:
    """The sentences of one file of code."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    is_help = any(folder in path.as_posix() for folder in _HELP_FOLDERS)
    inner = set(_docstrings(tree, keep_functions=is_help))
    for node in ast.walk(tree):
        if node in inner:
            continue
        if isinstance(node, ast.JoinedStr):
            inner |= set(ast.walk(node)) - {node}
        text = _text(node)
        if text and _PROSE.search(text) and not _is_code(text):
            shown = _FIELD.sub("…", " ".join(text.split()))
            yield Sentence(path, getattr(node, "lineno", 0), shown)


def all_sentences() -> list[Sentence]:
    """The sentences of all distributions."""
    folders = [_ROOT / "src", *sorted((_ROOT / "packages").glob("sapwood-*/src"))]
    paths = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    return [each for path in paths for each in sentences(path)]


def _docstrings(tree: ast.Module, *, keep_functions: bool) -> Iterator[ast.AST]:
    """Every text that stands alone as a statement, but those of functions if they are wanted."""
    for owner in ast.walk(tree):
        if keep_functions and isinstance(owner, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in ast.iter_child_nodes(owner):
            if isinstance(node, ast.Expr):
                yield node.value


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or "…" for part in node.values)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return ""


def _is_code(text: str) -> bool:
    return bool(_NOT_PROSE.search(text) or _SQL_START.match(text))


def main(argv: Sequence[str]) -> int:
    """Prints the sentences, or a sample of them."""
    options = argparse.ArgumentParser(prog="just strings", description=__doc__)
    options.add_argument("--sample", type=int, default=0, help="print this many, chosen at random")
    options.add_argument("--seed", type=int, default=0, help="which ones")
    chosen = options.parse_args(argv)
    found = all_sentences()
    shown = random.Random(chosen.seed).sample(found, chosen.sample) if chosen.sample else found
    for each in shown:
        print(f"{each.path.relative_to(_ROOT)}:{each.line}: {each.text}")
    print(f"{len(shown)} of {len(found)} sentences", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
