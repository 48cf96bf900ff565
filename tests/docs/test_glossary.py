"""The glossary speaks of the code as it is, and of each word once."""

import re
from pathlib import Path

from tests.source_files import source_files

ROOT = Path(__file__).parents[2]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ENTRY = re.compile(r"^\| ([a-z][^|]*) \| (.+) \|$", re.MULTILINE)


NAMED = re.compile(r"^ *class (\w+)|^(\w+)[^=\n]* = ", re.MULTILINE)


def names_in_the_code() -> set[str]:
    """Every class, and every type that has a name."""
    texts = (path.read_text(encoding="utf-8") for path in source_files().values())
    return {name for text in texts for found in NAMED.findall(text) for name in found if name}


def test_every_name_of_the_code_that_it_uses_is_there() -> None:
    used = set(re.findall(r"`([A-Z]\w+)", GLOSSARY))
    assert used - names_in_the_code() == set()


def test_every_word_is_explained_once_and_in_its_place() -> None:
    words = [entry[1] for entry in ENTRY.finditer(GLOSSARY) if entry[1] != "word"]
    assert len(words) == len(set(words))
    for section in GLOSSARY.split("\n## ")[1:]:
        listed = [entry[1] for entry in ENTRY.finditer(section) if entry[1] != "word"]
        assert listed == sorted(listed)
