"""The page of features names tests that exist."""

import re

from tests.docs.test_examples import ROOT

PAGE = ROOT / "docs" / "features.md"
_TEST = re.compile(r"`(tests/[\w/]+\.py)` `(\w+)`")


def test_every_test_that_the_page_names_exists() -> None:
    named = _TEST.findall(PAGE.read_text(encoding="utf-8"))
    texts = {path: (ROOT / path).read_text(encoding="utf-8") for path, _ in named}
    missing = [f"{path} {name}" for path, name in named if f"def {name}(" not in texts[path]]
    assert named
    assert not missing


def test_every_row_has_a_test_or_says_that_it_has_none() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:2] == "| "]
    bare = [row for row in rows if not _TEST.search(row) and not row.endswith(" – |")]
    assert [row for row in bare if "---" not in row and not row.startswith("| feature |")] == []
