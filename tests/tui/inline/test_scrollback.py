"""What is written to a terminal, as it then stands there."""

from sapwood.tui.inline.scrollback import Scrollback, TerminalLine
from tests.tui.inline.terminal import PlainTerminal

_COMPOSER = ("+--------+", "|        |", "+--------+", "status")


class _Printer:
    """A scrollback and the terminal that it writes to."""

    def __init__(self, width: int = 10, height: int = 8) -> None:
        self.terminal = PlainTerminal(width, height)
        self.terminal.write("$ start\r\n")
        self.scrollback: Scrollback[str] = Scrollback()
        self.scrollback.print_again = self.printed

    def printed(self, items: list[str]) -> None:
        for item in items:
            lines = [item[at : at + self._width] for at in range(0, len(item), self._width)]
            self.scrollback.print(item, _lines(lines))

    @property
    def _width(self) -> int:
        return self.terminal.width

    def frame(self, *live: str, cursor: tuple[int, int] = (2, 1)) -> str:
        size = (self.terminal.width, self.terminal.height)
        written = self.scrollback.frame(_lines(live), cursor, size)
        self.terminal.write(written)
        return written

    def resize(self, width: int, height: int) -> None:
        self.terminal.resize(width, height)
        self.scrollback.resized((width, height), self.terminal.y)


def _lines(texts: tuple[str, ...] | list[str]) -> list[TerminalLine]:
    return [TerminalLine(text, len(text)) for text in texts]


def test_what_is_printed_stands_above_the_live_area() -> None:
    printer = _Printer()
    printer.printed(["one", "two"])
    printer.frame(*_COMPOSER)
    assert printer.terminal.everything == ["$ start", "one", "two", *_COMPOSER]
    assert (printer.terminal.x, printer.terminal.y) == (2, 4)
    printer.printed(["three"])
    printer.frame("streaming", *_COMPOSER, cursor=(2, 2))
    assert printer.terminal.everything == [
        "$ start",
        "one",
        "two",
        "three",
        "streaming",
        *_COMPOSER,
    ]
    printer.frame(*_COMPOSER)
    assert printer.terminal.everything == ["$ start", "one", "two", "three", *_COMPOSER]


def test_more_than_a_screen_can_be_printed_at_once() -> None:
    printer = _Printer()
    printer.frame("stream", "stream", *_COMPOSER, cursor=(2, 3))
    many = [f"line {number}" for number in range(30)]
    printer.printed(many)
    printer.frame(*_COMPOSER)
    assert printer.terminal.everything == ["$ start", *many, *_COMPOSER]


def test_a_frame_that_changes_nothing_writes_nothing() -> None:
    printer = _Printer()
    printer.frame(*_COMPOSER)
    assert printer.frame(*_COMPOSER) == ""
    assert "|" not in printer.frame(*_COMPOSER[:-1], "other"), "only the line that has changed"


def test_a_cursor_of_a_higher_live_area_does_no_harm() -> None:
    printer = _Printer()
    printer.frame("a", "b", "c", *_COMPOSER, cursor=(0, 6))
    printer.printed(["abc"])
    printer.frame(*_COMPOSER, cursor=(0, 6))
    printer.printed(["def"])
    printer.frame(*_COMPOSER)
    assert printer.terminal.everything == ["$ start", "abc", "def", *_COMPOSER]


def test_another_width_prints_anew_what_begins_on_the_screen() -> None:
    printer = _Printer()
    printer.printed(["0123456789", "abcdefghij", "ABCDEFGHIJ"])
    printer.frame(*_COMPOSER)
    printer.resize(5, 8)
    printer.frame("+---+", "|   |", "+---+", "stat")
    assert "".join(printer.terminal.everything) == (
        "$ start0123456789abcdefghijABCDEFGHIJ+---+|   |+---+stat"
    )
    printer.resize(10, 12)
    printer.frame(*_COMPOSER)
    assert "".join(printer.terminal.everything) == (
        "$ start0123456789abcdefghijABCDEFGHIJ" + "".join(_COMPOSER)
    )


def test_a_terminal_that_does_not_tell_is_taken_to_be_full() -> None:
    printer = _Printer(height=8)
    printer.printed([f"line {number}" for number in range(20)])
    printer.frame(*_COMPOSER)
    printer.terminal.resize(9, 8)
    printer.scrollback.resized((9, 8), None)
    printer.frame("+-------+", "|       |", "+-------+", "status")
    found = [line for line in printer.terminal.everything if line.startswith("line")]
    assert found == [f"line {number}" for number in range(20)]


def test_leaving_removes_the_live_area_and_prints_what_waits() -> None:
    printer = _Printer()
    printer.printed(["one"])
    printer.frame("stream", *_COMPOSER, cursor=(2, 2))
    printer.printed(["two"])
    printer.terminal.write(printer.scrollback.removed())
    assert printer.terminal.everything == ["$ start", "one", "two"]
    assert (printer.terminal.x, printer.terminal.y) == (0, 3)


def test_leaving_right_after_another_size_leaves_nothing_behind() -> None:
    printer = _Printer()
    printer.printed(["one"])
    printer.frame(*_COMPOSER)
    printer.resize(12, 8)
    printer.terminal.write(printer.scrollback.removed())
    assert printer.terminal.everything == ["$ start", "one"]
