"""Words that were searched for are highlighted where they stand, whatever precedes them."""

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from sapwood.tui.transcript.row_renderer import highlighted_words

MARKED = Style(reverse=True)


def marked(line: str, words: str) -> list[str]:
    """The runs of letters of a line that are highlighted."""
    strip = highlighted_words(Strip([Segment(line)]), words, MARKED)
    assert strip.text == line
    return [each.text for each in strip if each.style and each.style.reverse]


@pytest.mark.parametrize(
    ("line", "words", "found"),
    [
        ("A heron, and two Herons.", "heron", ["heron", "Heron"]),
        ("鳥鳥 heron 鳥 heron", "heron", ["heron", "heron"]),
        ("🐦 the heron", "heron", ["heron"]),
        ("青い鷺と白い鷺", "鷺", ["鷺", "鷺"]),
        ("Die Straße führt zum heron", "heron", ["heron"]),
        ("e\u0301te\u0301 heron", "heron", ["heron"]),
        ("In der Straße", "straße", ["Straße"]),
        ("1.5 or 125", "1.5", ["1.5"]),
        ("no bird", "heron", []),
    ],
)
def test_the_letters_that_were_searched_are_highlighted(
    line: str, words: str, found: list[str]
) -> None:
    assert marked(line, words) == found
