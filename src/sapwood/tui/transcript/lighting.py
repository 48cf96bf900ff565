"""Lines with a part of them standing out: what is searched for, and what is selected."""

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

__all__ = ["lit", "lit_words"]


def lit(strip: Strip, start: int, end: int, style: Style) -> Strip:
    """The line with the cells from `start` to `end` in this style."""
    middle = [
        Segment(each.text, (each.style or Style.null()) + style) for each in strip.crop(start, end)
    ]
    return Strip.join([strip.crop(0, start), Strip(middle), strip.crop(end)])


def lit_words(strip: Strip, words: str, style: Style) -> Strip:
    """The line with every occurrence of these words in this style, whatever their case."""
    text = strip.text.casefold()
    found = text.find(words)
    while found >= 0:
        strip = lit(strip, found, found + len(words), style)
        found = text.find(words, found + len(words))
    return strip
