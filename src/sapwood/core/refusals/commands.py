"""Refusals of what was typed: no such command or place, other arguments, not for models."""

from sapwood.core.refusals.refusal import Refusal, cut, did_you_mean

__all__ = [
    "BadArguments",
    "HumanOnly",
    "ModelNeeded",
    "NoConversation",
    "NoPassage",
    "NoSuchCall",
    "NoSuchVersion",
    "UnknownCommand",
]


class HumanOnly(Refusal, frozen=True):
    """The table does not give this command to models."""

    command: str

    @property
    def sentence(self) -> str:
        return f"{self.command} is for people. Ask the user to run it."


class UnknownCommand(Refusal, frozen=True):
    """No command has this name."""

    word: str
    close: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        return (
            f"There is no command {cut(self.word)}.{did_you_mean(self.close, '/')} "
            f"/help lists them; start with // to send the text as it is."
        )


class BadArguments(Refusal, frozen=True):
    """The words after a command do not fit it."""

    usage: str
    reason: str

    @property
    def sentence(self) -> str:
        return f"{self.reason} Type it as {self.usage}."


class NoConversation(Refusal, frozen=True):
    """The command needs a conversation, and none was started yet."""

    @property
    def sentence(self) -> str:
        return "There is no conversation yet. Write a first message."


class ModelNeeded(Refusal, frozen=True):
    """A model has to be called for this command, and none can be called here."""

    command: str
    agent: str

    @property
    def sentence(self) -> str:
        return f"A model has to answer {self.command}. Type it where agents run: on the screen."


class NoSuchCall(Refusal, frozen=True):
    """The log has no model call at this version."""

    agent: str
    version: int

    @property
    def sentence(self) -> str:
        return (
            f"Version {self.version} of {self.agent} is no model call. /replay shows the last one."
        )


class NoSuchVersion(Refusal, frozen=True):
    """The log has no event at this version."""

    agent: str
    last: int

    @property
    def sentence(self) -> str:
        return f"The log of {self.agent} ends at version {self.last}. Type an earlier one."


class NoPassage(Refusal, frozen=True):
    """No text stands at this place of the log."""

    place: str
    first: int = 0

    @property
    def sentence(self) -> str:
        where = f" from character {self.first:,} on" if self.first else ""
        return f"Nothing stands at {cut(self.place)}{where}. /recall WORDS finds it."
