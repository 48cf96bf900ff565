"""Cuts what the model says into the pieces of a stream. Pure."""

from collections.abc import Iterator

from sapwood.testing.scripted.wires.wire import Answer

__all__ = ["Pieces"]


class Pieces:
    """Pieces of a given size over all parts of a reply, with a border wherever one is wanted.

    >>> pieces = Pieces(4, (6,))
    >>> list(pieces.of("scripted")), list(pieces.of("model"))
    (['scri', 'pt', 'ed'], ['mode', 'l'])
    """

    def __init__(self, size: int, breaks: tuple[int, ...]) -> None:
        self._size = max(1, size)
        self._breaks = sorted(breaks)
        self._given = 0

    @classmethod
    def for_answer(cls, answer: Answer) -> "Pieces":
        return cls(answer.piece, answer.breaks)

    def of(self, text: str) -> Iterator[str]:
        """The text in pieces."""
        start = 0
        while start < len(text):
            end = min(start + self._size, len(text))
            for border in self._breaks:
                place = border - self._given + start
                if start < place < end:
                    end = place
                    break
            piece = text[start:end]
            self._given += len(piece)
            start = end
            yield piece
