"""An answer on its way, put together from its pieces. Pure."""

from sapwood.core.calling import Delta
from sapwood.tui.transcript.painter import Stream

__all__ = ["Streaming"]


class Streaming:
    """What has come of the answer so far."""

    def __init__(self) -> None:
        self._model = ""
        self._calling = self._over = False
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._tool = ""

    def called(self, model: str) -> None:
        """A model was asked: from here on something is on its way."""
        self.clear()
        self._model, self._calling, self._over = model, True, False

    def add(self, delta: Delta) -> None:
        """One more piece; one that comes late, of an answer that is over, is left out."""
        if self._over:
            return
        self._calling = True
        match delta.kind:
            case "text":
                self._text.append(delta.text)
            case "thinking":
                self._thinking.append(delta.text)
            case "call":
                self._tool = delta.name or self._tool

    def clear(self) -> None:
        """The answer is in the log, or will never be."""
        self._calling, self._over, self._tool = False, True, ""
        self._text.clear()
        self._thinking.clear()

    def row(self) -> Stream | None:
        """What to show of it."""
        if not self._calling:
            return None
        return Stream(self._model, "".join(self._text), "".join(self._thinking), self._tool)
