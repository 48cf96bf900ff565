"""Refusals of what was typed: no such command, other arguments, not for models."""

from sapwood.core.refusals.refusal import Refusal, cut, did_you_mean

__all__ = ["BadArguments", "HumanOnly", "UnknownCommand"]


class HumanOnly(Refusal, frozen=True):
    """The registry does not give this command to models."""

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
