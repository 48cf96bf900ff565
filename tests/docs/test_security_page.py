"""The page on security names every attack, and tests that exist."""

import re
from pathlib import Path

from proofs.attack.__main__ import ATTACKS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")


def test_every_attack_is_on_the_page() -> None:
    rows = re.findall(r"^\| ([\w, ]+) \|", PAGE, re.MULTILINE)
    named = {id for row in rows for id in row.split(", ")}
    assert {attack.id for attack in ATTACKS} <= named


def test_every_test_on_the_page_exists() -> None:
    paths = re.findall(r"`((?:tests|proofs)/[\w./]+)`", PAGE)
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_recipe_on_the_page_exists() -> None:
    recipes = set(
        re.findall(r"^([\w-]+)[^:\n]*:(?!=)", (ROOT / "justfile").read_text(), re.MULTILINE)
    )
    assert set(re.findall(r"`just ([\w-]+)", PAGE)) <= recipes
