"""What was sent before: arrows walk through it, and it can be searched. Pure."""

__all__ = ["History"]

_KEPT = 1_000


class History:
    """Sent texts, oldest first, and a place among them.

    >>> history = History(["one", "two"])
    >>> history.back("draft"), history.back("two"), history.forward("one"), history.forward("two")
    ('two', 'one', 'two', 'draft')
    """

    def __init__(self, sent: list[str] | None = None) -> None:
        self._sent = list(sent or [])
        self._place = len(self._sent)
        self._draft = ""

    def begin(self, sent: list[str]) -> None:
        """Another conversation: what was sent there, then what was sent here already."""
        self._sent = [*sent, *(text for text in self._sent if text not in sent)][-_KEPT:]
        self._place = len(self._sent)

    def add(self, text: str) -> None:
        """Something was sent."""
        if text.strip() and self._sent[-1:] != [text]:
            self._sent = [*self._sent, text][-_KEPT:]
        self._place = len(self._sent)

    def back(self, shown: str) -> str | None:
        """The one before what is shown; the draft is kept."""
        if self._place == 0:
            return None
        if self._place == len(self._sent):
            self._draft = shown
        self._place -= 1
        return self._sent[self._place]

    def forward(self, shown: str) -> str | None:
        """The one after it, and at last the draft."""
        if self._place >= len(self._sent):
            return None
        self._place += 1
        return self._draft if self._place == len(self._sent) else self._sent[self._place]

    def matching(self, words: str) -> list[str]:
        """Sent texts that hold these words, newest first, each once."""
        wanted = words.casefold()
        return [text for text in dict.fromkeys(reversed(self._sent)) if wanted in text.casefold()]
