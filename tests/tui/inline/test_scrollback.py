"""What is written to a terminal, as it then stands there."""

from sapwood.tui.inline.line import Line
from sapwood.tui.inline.scrollback import Scrollback
from tests.tui.inline.terminal import PlainTerminal

_COMPOSER = ("+--------+", "|        |", "+--------+", "status")


class _Desk:
    """A scrollback and the terminal that it writes to."""

    def __init__(self, width: int = 10, height: int = 8) -> None:
        self.terminal = PlainTerminal(width, height)
        self.terminal.write("$ start\r\n")
        self.scrollback: Scrollback[str] = Scrollback()
        self.scrollback.again = self.printed

    def printed(self, things: list[str]) -> None:
        for thing in things:
            lines = [thing[at : at + self._width] for at in range(0, len(thing), self._width)]
            self.scrollback.print(thing, _lines(lines))

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


def _lines(texts: tuple[str, ...] | list[str]) -> list[Line]:
    return [Line(text, len(text)) for text in texts]


def test_what_is_printed_stands_above_the_live_area() -> None:
    desk = _Desk()
    desk.printed(["one", "two"])
    desk.frame(*_COMPOSER)
    assert desk.terminal.everything == ["$ start", "one", "two", *_COMPOSER]
    assert (desk.terminal.x, desk.terminal.y) == (2, 4)
    desk.printed(["three"])
    desk.frame("streaming", *_COMPOSER, cursor=(2, 2))
    assert desk.terminal.everything == ["$ start", "one", "two", "three", "streaming", *_COMPOSER]
    desk.frame(*_COMPOSER)
    assert desk.terminal.everything == ["$ start", "one", "two", "three", *_COMPOSER]


def test_more_than_a_screen_can_be_printed_at_once() -> None:
    desk = _Desk()
    desk.frame("stream", "stream", *_COMPOSER, cursor=(2, 3))
    many = [f"line {number}" for number in range(30)]
    desk.printed(many)
    desk.frame(*_COMPOSER)
    assert desk.terminal.everything == ["$ start", *many, *_COMPOSER]


def test_a_frame_that_changes_nothing_writes_nothing() -> None:
    desk = _Desk()
    desk.frame(*_COMPOSER)
    assert desk.frame(*_COMPOSER) == ""
    assert "|" not in desk.frame(*_COMPOSER[:-1], "other"), "only the line that has changed"


def test_a_cursor_of_a_higher_live_area_does_no_harm() -> None:
    desk = _Desk()
    desk.frame("a", "b", "c", *_COMPOSER, cursor=(0, 6))
    desk.printed(["abc"])
    desk.frame(*_COMPOSER, cursor=(0, 6))
    desk.printed(["def"])
    desk.frame(*_COMPOSER)
    assert desk.terminal.everything == ["$ start", "abc", "def", *_COMPOSER]


def test_another_width_prints_anew_what_begins_on_the_screen() -> None:
    desk = _Desk()
    desk.printed(["0123456789", "abcdefghij", "ABCDEFGHIJ"])
    desk.frame(*_COMPOSER)
    desk.resize(5, 8)
    desk.frame("+---+", "|   |", "+---+", "stat")
    assert "".join(desk.terminal.everything) == (
        "$ start0123456789abcdefghijABCDEFGHIJ+---+|   |+---+stat"
    )
    desk.resize(10, 12)
    desk.frame(*_COMPOSER)
    assert "".join(desk.terminal.everything) == (
        "$ start0123456789abcdefghijABCDEFGHIJ" + "".join(_COMPOSER)
    )


def test_a_terminal_that_does_not_tell_is_taken_to_be_full() -> None:
    desk = _Desk(height=8)
    desk.printed([f"line {number}" for number in range(20)])
    desk.frame(*_COMPOSER)
    desk.terminal.resize(9, 8)
    desk.scrollback.resized((9, 8), None)
    desk.frame("+-------+", "|       |", "+-------+", "status")
    found = [line for line in desk.terminal.everything if line.startswith("line")]
    assert found == [f"line {number}" for number in range(20)]


def test_leaving_removes_the_live_area_and_prints_what_waits() -> None:
    desk = _Desk()
    desk.printed(["one"])
    desk.frame("stream", *_COMPOSER, cursor=(2, 2))
    desk.printed(["two"])
    desk.terminal.write(desk.scrollback.removed())
    assert desk.terminal.everything == ["$ start", "one", "two"]
    assert (desk.terminal.x, desk.terminal.y) == (0, 3)


def test_leaving_right_after_another_size_leaves_nothing_behind() -> None:
    desk = _Desk()
    desk.printed(["one"])
    desk.frame(*_COMPOSER)
    desk.resize(12, 8)
    desk.terminal.write(desk.scrollback.removed())
    assert desk.terminal.everything == ["$ start", "one"]
