"""Every link from a page to a file or a heading of this repository leads there."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.test_examples import ROOT, relative
from tools.markdown_pages import FENCED

PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "packages").glob("*/README.md")),
]
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The anchors that a page's headings have on the repository's site."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in _HEADING.findall(text))
    return {heading.strip().replace(" ", "-") for heading in kept}


def broken(page: Path) -> Iterator[str]:
    """The links of a page that lead nowhere. Links to other sites are not followed."""
    for link in _LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", path):
            continue
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield link


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    assert list(broken(page)) == []


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# The `one` place\n[a](#the-one-place) [b](#no) [c](no.md) [d](page.md#no)\n")
    assert list(broken(page)) == ["#no", "no.md", "page.md#no"]
