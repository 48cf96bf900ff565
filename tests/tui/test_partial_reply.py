"""An answer on its way is put together from its pieces, and gone when it is over."""

from sapwood.core.model_calls import Delta
from sapwood.tui.transcript.sink import PartialReplyBuilder


def _text(streaming: PartialReplyBuilder) -> str | None:
    row = streaming.row()
    return row.text if row is not None else None


def test_pieces_are_shown_together() -> None:
    streaming = PartialReplyBuilder()
    streaming.start("claude-sonnet-5-5")
    assert _text(streaming) == ""
    streaming.add(Delta("text", "On "))
    streaming.add(Delta("text", "roofs."))
    assert _text(streaming) == "On roofs."


def test_pieces_of_a_call_that_began_before_are_shown() -> None:
    streaming = PartialReplyBuilder()
    streaming.add(Delta("text", "roofs."))
    assert _text(streaming) == "roofs."


def test_a_piece_that_comes_after_the_end_is_left_out() -> None:
    streaming = PartialReplyBuilder()
    streaming.start("claude-sonnet-5-5")
    streaming.clear()
    streaming.add(Delta("text", "late"))
    assert streaming.row() is None
    streaming.start("claude-sonnet-5-5")
    streaming.add(Delta("text", "next"))
    assert _text(streaming) == "next"
