"""Refusals about agents: who is meant, and what may be done with them."""

from sapwood.core.refusals.refusal import Refusal, cut, did_you_mean, quoted

__all__ = [
    "AgentExists",
    "AmbiguousAgent",
    "BadId",
    "Imported",
    "MailboxFull",
    "NotDescendant",
    "NotImported",
    "NotRunning",
    "RootNeedsHuman",
    "UnknownAgent",
]


class UnknownAgent(Refusal, frozen=True):
    """No agent has this id."""

    agent: str
    close: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        return (
            f"There is no agent {quoted(self.agent)}.{did_you_mean(self.close)} /agents lists them."
        )


class AmbiguousAgent(Refusal, frozen=True):
    """Several agents could be meant."""

    name: str
    agents: tuple[str, ...]

    @property
    def sentence(self) -> str:
        agents = ", ".join(self.agents)
        return f"{quoted(self.name)} could be {agents}. Type more of the id."


class AgentExists(Refusal, frozen=True):
    """The id of a new agent is taken."""

    agent: str

    @property
    def sentence(self) -> str:
        return f"An agent '{self.agent}' exists already. Resume it, or choose another id."


class NotRunning(Refusal, frozen=True):
    """The agent is archived or killed."""

    agent: str
    status: str

    @property
    def sentence(self) -> str:
        return f"Agent '{self.agent}' is {self.status}. Its log can be read; fork it to go on."


class Imported(Refusal, frozen=True):
    """The conversation goes on where it ran, and not here."""

    agent: str
    source: str

    @property
    def sentence(self) -> str:
        return (
            f"Agent '{self.agent}' was imported from {self.source}, which alone goes on with it. "
            f"Go on with a fork of it: /fork, or sapwood fork {self.agent}."
        )


class NotImported(Refusal, frozen=True):
    """Only where a conversation is a copy can it be moved as the original was."""

    agent: str

    @property
    def sentence(self) -> str:
        return f"Agent '{self.agent}' was not imported. Use /rewind MARK instead."


class NotDescendant(Refusal, frozen=True):
    """A model acts on its own descendants only."""

    agent: str

    @property
    def sentence(self) -> str:
        return f"Agent '{self.agent}' is not a descendant of yours. Send it mail instead."


class RootNeedsHuman(Refusal, frozen=True):
    """Only a person ends a root."""

    agent: str

    @property
    def sentence(self) -> str:
        return f"Agent '{self.agent}' is a root. Only a person may kill it: ask the user."


class MailboxFull(Refusal, frozen=True):
    """The agent has to read its mail first."""

    agent: str
    limit: int

    @property
    def sentence(self) -> str:
        return (
            f"Agent '{self.agent}' has {self.limit} letters and notes waiting, and takes no more "
            "before it was prompted or has read them. Nothing was sent. Wait, or try again later."
        )


class BadId(Refusal, frozen=True):
    """A store could not hold this id."""

    id: str

    @property
    def sentence(self) -> str:
        shown = cut(ascii(self.id))
        return f"{shown} cannot be an id. Give one without null characters and lone surrogates."
