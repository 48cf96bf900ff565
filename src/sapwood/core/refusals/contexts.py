"""Refusals about the context: marks, undo, summaries, forks, pins and topics."""

from sapwood.core.refusals.refusal import Refusal, did_you_mean, quoted

__all__ = [
    "BadMarkName",
    "NoGoal",
    "NoMarks",
    "NothingToRedo",
    "NothingToUndo",
    "SummaryOutdated",
    "TooManyPins",
    "TooManyTopics",
    "UnknownMark",
    "UnknownPin",
]


class BadMarkName(Refusal, frozen=True):
    """Marks have names that can be typed and told from numbers."""

    name: str

    @property
    def sentence(self) -> str:
        return (
            f"{quoted(self.name)} is no name for a mark. Use up to 64 letters, digits, '_', '.' "
            "or '-', starting with a letter or '_'."
        )


class UnknownMark(Refusal, frozen=True):
    """No live mark has this name."""

    name: str
    close: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        instead = did_you_mean(self.close) or " /mark NAME sets one."
        return f"There is no mark {quoted(self.name)}.{instead} Nothing was changed."


class NoMarks(Refusal, frozen=True):
    """There is nothing to rewind to."""

    @property
    def sentence(self) -> str:
        return "There is no mark to rewind to. Set one with /mark NAME."


class NothingToUndo(Refusal, frozen=True):
    """No context command is left to take back."""

    @property
    def sentence(self) -> str:
        return "There is no context command to undo: /undo takes back /clear, /rewind, /compact."


class NothingToRedo(Refusal, frozen=True):
    """No undo is left to take back."""

    @property
    def sentence(self) -> str:
        return "There is nothing to redo: /redo works after /undo, until the next context command."


class SummaryOutdated(Refusal, frozen=True):
    """Turns were added while the summary was written."""

    @property
    def sentence(self) -> str:
        return "The conversation went on while it was summarised. Nothing was trimmed; try again."


class NoGoal(Refusal, frozen=True):
    """A fork from a place in the open turn delegates what was written after it."""

    mark: str

    @property
    def sentence(self) -> str:
        return f"Nothing was written after '{self.mark}'. Write the goal there, or add -- GOAL."


class UnknownPin(Refusal, frozen=True):
    """No pin has this name."""

    name: str
    close: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        return (
            f"There is no pin {quoted(self.name)}.{did_you_mean(self.close)} "
            "/context lists the pins."
        )


class TooManyPins(Refusal, frozen=True):
    """An agent holds as many pins as it can."""

    limit: int

    @property
    def sentence(self) -> str:
        return f"There are {self.limit} pins already, which is the most. /unpin NAME takes one out."


class TooManyTopics(Refusal, frozen=True):
    """As many topics are in focus as can be."""

    limit: int

    @property
    def sentence(self) -> str:
        return (
            f"There are {self.limit} topics in focus already, which is the most. "
            "Send one to the background and try again."
        )
