"""The pages of the repository, copied for the generator with their paths; and `llms.txt`."""

import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.markdown_pages import FENCED, without_remarks

ROOT = Path(__file__).resolve().parents[2]
CONFIG = Path(__file__).with_name("zensical.toml")
_TOP = (
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE"),
    *("evals/README.md", "proofs/README.md"),
)
_UNSEARCHED = (
    *(
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "docs/README.md",
        "docs/decisions/",
        "docs/first-issues.md",
    ),
    *("evals/", "packages/sapwood-", "proofs/"),
)
"""Pages for people who change Sapwood. The search leaves them to the navigation."""
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def copy_pages(target: Path) -> None:
    """Copies pages, examples and pictures. A link to a folder without a page becomes its text."""
    for path in sources():
        copy = target / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            name = path.relative_to(ROOT).as_posix()
            front = "---\nsearch:\n  exclude: true\n---\n" if name.startswith(_UNSEARCHED) else ""
            copy.write_text(front + _site_text(path), encoding="utf-8")
        else:
            shutil.copy(path, copy)


def sources() -> Iterator[Path]:
    """Every file of the site, in the repository."""
    yield from (ROOT / name for name in _TOP)
    yield from (path for path in sorted((ROOT / "docs").rglob("*")) if path.is_file())
    yield from sorted((ROOT / "packages").glob("*/README.md"))


def listed(nav: list[Any], group: str = "") -> Iterator[tuple[str, str]]:
    """The group and the path of each page of the navigation."""
    for entry in nav:
        if isinstance(entry, str):
            yield group, entry
            continue
        for name, value in entry.items():
            if isinstance(value, str):
                yield group, value
            else:
                yield from listed(value, name)


def navigation() -> list[tuple[str, str]]:
    """The group and the path of each page, in order."""
    return list(listed(tomllib.loads(CONFIG.read_text(encoding="utf-8"))["project"]["nav"]))


def unlisted() -> list[str]:
    """Pages that the navigation leaves out. Records are listed on their own page."""
    named = {path for _, path in navigation()}
    paths = (path.relative_to(ROOT).as_posix() for path in sources() if path.suffix == ".md")
    return [path for path in paths if path not in named and not path.startswith(_UNSEARCHED)]


def llms_text() -> str:
    """`llms.txt`: every page of the navigation by group, with its first sentence."""
    lines = ["# Sapwood", "", "> Everything is kept; you decide what the model sees."]
    group = None
    for each, path in navigation():
        if each != group:
            lines += ["", f"## {each or 'Start'}", ""]
            group = each
        title, sentence = _introduction(ROOT / path)
        lines.append(f"- [{title}]({path}): {sentence}")
    return "\n".join(lines) + "\n"


def _introduction(page: Path) -> tuple[str, str]:
    """The title of a page and its first sentence."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    title = text.partition("\n")[0].removeprefix("# ")
    blocks = (" ".join(block.split()) for block in text.split("\n\n")[1:])
    prose = next((each for each in blocks if re.match(r"[\w*`']", each)), title)
    plain = _LINK.sub(lambda found: found[2], prose).replace("*", "")
    return title, re.split(r"(?<=[.!?]) ", plain)[0]


def _site_text(page: Path) -> str:
    def linked(found: re.Match[str]) -> str:
        path = found[3].partition("#")[0]
        if not path or re.match(r"[a-z]+:", path) or (page.parent / path).is_file():
            return found[0]
        return found[2]

    text = without_remarks(page.read_text(encoding="utf-8"))
    parts = re.split(f"({FENCED.pattern})", text, flags=FENCED.flags)
    return "".join(
        part if part.startswith("```") else _LINK.sub(linked, part) for part in parts if part
    )
