"""What can go wrong before a transcript is read. Inside one, nothing: bad rows are passed over."""

from pathlib import Path

from sapwood.core.errors import SapwoodError

__all__ = ["NotATranscript"]


class NotATranscript(SapwoodError):
    """A file cannot be read, or is not the transcript of a program that is known here."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{str(path)!r} {reason}. Nothing was changed. "
            "Give a transcript of Claude Code, Codex or Gemini CLI."
        )
        self.path = path
