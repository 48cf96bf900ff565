"""The pages for contributors name files that exist, and the layers that the contract has."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.markdown_pages import FENCED

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "sapwood"
ARCHITECTURE = ROOT / "docs" / "architecture.md"
PAGES = (ARCHITECTURE, ROOT / "CONTRIBUTING.md")

_CODE = re.compile(r"`([^`\n]+)`")
_PATH = re.compile(r"(?:[\w-]+/)+(?:[\w.-]+)?|\w+\.py")
_LAYERS = re.compile(r"^## Layers\n+```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_WAY = "\n## From a key to the log and back to the screen\n"


def paths_in(text: str) -> set[str]:
    """Everything in code type that is a path: a file of Python, or a name with a slash inside."""
    return {span for span in _CODE.findall(FENCED.sub("", text)) if _PATH.fullmatch(span)}


def exists(path: str) -> bool:
    """Whether the path leads somewhere from the source or from the root of the repository."""
    folders = (SOURCE, ROOT, *(ROOT / "packages").glob("sapwood-*/src"))
    return any((folder / path).exists() for folder in folders)


def steps() -> list[tuple[str, str, str]]:
    """The rows of the table of the way: a file, and what it does for each of the two."""
    section = ARCHITECTURE.read_text(encoding="utf-8").split(_WAY)[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(.+?)` \|(.*)\|(.*)\|$", section, re.MULTILINE)
    return [(file, prompt.strip(), rewind.strip()) for file, prompt, rewind in rows]


def layers() -> list[set[str]]:
    """The packages of each line of the import contract, from the top."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    lines = next(each["layers"] for each in contracts if each["id"] == "layers")
    return [set(re.findall(r"\w+", line)) for line in lines]


def drawn() -> Iterator[str]:
    """The packages in the drawing of the layers, from the top."""
    drawing = _LAYERS.search(ARCHITECTURE.read_text(encoding="utf-8"))
    assert drawing is not None
    yield from re.findall(r"\b(\w+)(?:/|\.py)(?=\s|,|$)", drawing[1])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_on_the_page_exists(page: Path) -> None:
    named = paths_in(page.read_text(encoding="utf-8"))
    assert len(named) > 20
    assert [path for path in sorted(named) if not exists(path)] == []


def test_a_path_is_told_from_other_code() -> None:
    text = "`core/evolve.py`, `runtime/`, `journal.py`, `/rewind MARK`, `head = tip`, `just test`"
    assert paths_in(text) == {"core/evolve.py", "runtime/", "journal.py"}
    assert exists("core/evolve.py")
    assert not exists("core/no_such_file.py")


def test_the_way_of_a_prompt_and_of_a_rewind_names_each_file_once() -> None:
    files = [file for file, _, _ in steps()]
    assert len(files) > 20
    assert sorted(files) == sorted(set(files))
    assert [file for file in files if not (SOURCE / file).is_file()] == []


def test_each_file_on_the_way_does_something() -> None:
    assert [file for file, prompt, rewind in steps() if not prompt and not rewind] == []


def test_the_drawing_has_every_package_in_the_order_of_the_contract() -> None:
    names = list(drawn())
    parts = (path for path in SOURCE.iterdir() if (path / "__init__.py").exists())
    files = (path for path in SOURCE.glob("*.py") if not path.stem.startswith("__"))
    assert sorted(names) == sorted(path.stem for path in (*parts, *files))
    lines = [next(i for i, line in enumerate(layers()) if name in line) for name in names]
    assert lines == sorted(lines)
