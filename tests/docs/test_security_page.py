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


def test_every_threat_with_a_number_is_tried_by_an_attack() -> None:
    """By one of `just attack`, or of `just attack-web`; X18 has none, and its row says so."""
    threats = PAGE.partition("## Threats")[2].partition("## What is not protected")[0]
    rows = re.findall(r"^\| (\w[\w, ]*) \|(.*)$", threats, re.MULTILINE)
    tried = {attack.id for attack in ATTACKS}
    untried = [
        ids for ids, row in rows if not tried & set(ids.split(", ")) and "`just attack-" not in row
    ]
    assert len(rows) > 30
    assert untried == ["X18"]
    assert "`proofs/attack/README.md` says why" in dict(rows)["X18"]


def test_every_threat_names_a_test_or_says_why_not() -> None:
    threats = PAGE.partition("## Threats")[2].partition("## What is not protected")[0]
    rows = [line for line in threats.splitlines() if line.startswith("| ")][2:]
    assert [row for row in rows if not re.search(r"`(?:tests|proofs)/", row)] == []
