"""`just strings` finds what people read, and nothing that only the code reads."""

from pathlib import Path

from tools.strings import sentences

_CODE = '''
"""A module that nobody reads as help."""

def f(name):
    """Opens the door."""
    query = "SELECT a FROM b WHERE c"
    pattern = r"one two \\b three"
    raise ValueError(f"There is no door with the name {name}. Open another.")
'''


def test_sentences_are_texts_that_read_as_prose(tmp_path: Path) -> None:
    file = tmp_path / "door.py"
    file.write_text(_CODE, encoding="utf-8")
    assert [(each.line, each.text) for each in sentences(file)] == [
        (8, "There is no door with the name …. Open another.")
    ]


def test_the_docstring_of_a_command_is_a_help_page(tmp_path: Path) -> None:
    file = tmp_path / "cli/commands/door.py"
    file.parent.mkdir(parents=True)
    file.write_text(_CODE.replace("Opens the door", "Open the door of a house"), encoding="utf-8")
    assert "Open the door of a house." in [each.text for each in sentences(file)]
