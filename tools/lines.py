"""The size of the source: `just lines` prints a line for each distribution, and names used twice.

Counts every line of every module in `src` and `packages/*/src`. `--names` lists the public classes
and the modules of Sapwood that share a name with another.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median

from msgspec import Struct

_ROOT = Path(__file__).parents[1]


class Distribution(Struct, frozen=True):
    """The modules of one distribution: how long each is, and which names they use."""

    name: str
    lengths: list[int]
    modules: list[str]
    classes: list[str]

    def line(self) -> str:
        """The distribution as one line."""
        twice = len(repeated(self.modules)) + len(repeated(self.classes))
        return (
            f"{self.name:20}{sum(self.lengths):8,} lines {len(self.lengths):4} files"
            f"  median {median(self.lengths):4.0f}  longest {max(self.lengths):4}"
            f"  names used more than once {twice:3}"
        )


def repeated(names: Iterable[str]) -> dict[str, int]:
    """The names that occur more than once, the most frequent first."""
    return {name: count for name, count in Counter(names).most_common() if count > 1}


def measured(name: str, source: Path) -> Distribution:
    """Measures the modules below a folder."""
    found = Distribution(name, [], [], [])
    for path in sorted(source.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        found.lengths.append(len(text.splitlines()))
        if path.stem not in ("__init__", "__main__"):
            found.modules.append(path.stem)
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.classes.append(node.name)
    return found


def distributions(root: Path = _ROOT) -> list[Distribution]:
    """`sapwood`, and each distribution of `packages`."""
    packages = sorted(path for path in (root / "packages").iterdir() if (path / "src").is_dir())
    others = [measured(path.name, path / "src") for path in packages]
    return [measured("sapwood", root / "src"), *others]


def main(argv: Sequence[str]) -> int:
    """Prints a line for each distribution, and one for all that are part of Sapwood."""
    found = distributions()
    print(*(each.line() for each in found), sep="\n")
    own = [each for each in found if each.name.startswith("sapwood")]
    if "--names" in argv:
        for kind, names in (
            ("module", [name for each in own for name in each.modules]),
            ("class", [name for each in own for name in each.classes]),
        ):
            print(*(f"{kind} {name}: {count}" for name, count in repeated(names).items()), sep="\n")
    lengths = [length for each in own for length in each.lengths]
    print(f"lines: {sum(lengths):,} in {len(lengths)} files, median {median(lengths):.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
