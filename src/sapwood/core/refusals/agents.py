"""Refusals about agents: which one is meant, and what may be done with it.

The refusal to spend or to start more than a budget allows.
"""

from typing import Literal

from sapwood.core.refusals.refusal import Refusal, cut, did_you_mean, quoted


class UnknownAgent(Refusal, frozen=True):
    """No agent has this id."""

    agent: str
    close: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        return (
            f"There is no agent {quoted(self.agent)}.{did_you_mean(self.close)} Type /agents "
            "for a list."
        )

    @property
    def for_model(self) -> str:
        return (
            f"There is no agent {quoted(self.agent)}.{did_you_mean(self.close)} "
            "The result of each fork names the child, and 'parent' names your parent."
        )


class AmbiguousAgent(Refusal, frozen=True):
    """Several agents have this name, or an id that starts with it."""

    name: str
    agents: tuple[str, ...]

    @property
    def sentence(self) -> str:
        agents = ", ".join(self.agents)
        return f"{quoted(self.name)} is ambiguous: it could be {agents}. Type more of the id."


class AgentExists(Refusal, frozen=True):
    """The id for a new agent belongs to another one."""

    agent: str
    says = "Agent '{agent}' already exists. Resume it, or choose another id."


class NotArchived(Refusal, frozen=True):
    """The agent is not archived, so it cannot be made running again."""

    agent: str
    status: str

    @property
    def sentence(self) -> str:
        if self.status == "killed":
            return (
                f"Agent '{self.agent}' was killed. You can still read its log; fork it to continue."
            )
        return (
            f"Agent '{self.agent}' is {self.status}, not archived. To continue it, just type a "
            "prompt."
        )


class NotRunning(Refusal, frozen=True):
    """The agent is archived or killed."""

    agent: str
    status: str

    @property
    def sentence(self) -> str:
        if self.status == "archived":
            return (
                f"Agent '{self.agent}' is archived. You can still read its log. To continue it, "
                "type /unarchive; to continue a copy, fork it."
            )
        return (
            f"Agent '{self.agent}' is {self.status}. You can still read its log; fork it to "
            "continue."
        )


class Imported(Refusal, frozen=True):
    """An imported conversation continues in its own program, not here."""

    agent: str
    source: str
    says = (
        "Agent '{agent}' was imported from {source} and continues there. "
        "To continue here, fork it: /fork, or sapwood fork {agent}."
    )


class SessionInUse(Refusal, frozen=True):
    """The session of another program cannot be changed now, for example because it is open."""

    reason: str

    @property
    def sentence(self) -> str:
        return (
            f"{self.reason.rstrip('.')}. Nothing was changed. "
            "Type the command again when the session is closed."
        )


class SessionMissing(Refusal, frozen=True):
    """A program has deleted the session that a command would change."""

    title: str
    program: str
    session: str
    says = (
        "{title} no longer has session {session}. Nothing was changed. To restore it first, type "
        "'sapwood restore {session} --to {program}'."
    )


class NotImported(Refusal, frozen=True):
    """Only an imported conversation can follow the moves of its original."""

    agent: str
    says = "Agent '{agent}' was not imported. Use /rewind MARK instead."


class NotDescendant(Refusal, frozen=True):
    """A model may act on its own descendants only."""

    agent: str
    says = "Agent '{agent}' is not one of your descendants. Send it mail instead."


class RootNeedsHuman(Refusal, frozen=True):
    """Only a person may kill a root agent."""

    agent: str
    says = "Agent '{agent}' is a root agent. Only a person may kill it: ask the user."


class MailboxFull(Refusal, frozen=True):
    """The agent has as many unread letters and notes as it can have."""

    agent: str
    limit: int
    says = (
        "Agent '{agent}' already has {limit} unread messages, which is the limit. "
        "Nothing was sent. Try again after it has read them."
    )


class BadId(Refusal, frozen=True):
    """No store can hold this id."""

    id: str

    @property
    def sentence(self) -> str:
        shown = cut(ascii(self.id))
        return f"{shown} is not a valid id. Use one without null characters or lone surrogates."


class ErasureHeld(Refusal, frozen=True):
    """A legal hold covers what was to be erased."""

    hold: str
    reason: str = ""

    @property
    def sentence(self) -> str:
        why = f" ({quoted(self.reason)})" if self.reason else ""
        return (
            f"The legal hold {self.hold}{why} covers this. Nothing was erased. To release it, type "
            f"'sapwood hold --release {self.hold}'."
        )


class ConversationInUse(Refusal, frozen=True):
    """A conversation that was to be archived in object storage was used meanwhile."""

    agent: str

    @property
    def sentence(self) -> str:
        return (
            f"The conversation '{self.agent}' was used while it was archived, so nothing of it was "
            "deleted. Try again when nobody uses it."
        )


class InArchive(Refusal, frozen=True):
    """A conversation was moved to object storage; the agent in its place only stands for it."""

    agent: str
    says = (
        "The conversation '{agent}' is in object storage. Nothing was changed. Type "
        "'sapwood restore {agent}' to bring it back."
    )


class StubInUse(Refusal, frozen=True):
    """Somebody has worked in the agent that stands for an archived conversation."""

    agent: str
    address: str
    says = (
        "Something was added to '{agent}' while the conversation was in object storage, and would "
        "be lost. Nothing was changed. Type 'sapwood restore --from {address} --space NAME' to "
        "have the conversation in another space."
    )


class ArchivedIdInUse(Refusal, frozen=True):
    """An agent of an archive cannot come back, because another one has its id."""

    agent: str
    address: str
    says = (
        "The archive has an agent '{agent}', and another agent has this id now. Nothing was "
        "changed. Type 'sapwood restore --from {address} --space NAME' to have the conversation "
        "in another space."
    )


class UnknownHold(Refusal, frozen=True):
    """No legal hold with this id is in force."""

    hold: str
    says = "There is no active legal hold {hold!q}. To list all holds, type 'sapwood hold'."


BudgetName = Literal["cost", "calls", "depth", "agents", "turns", "turn_calls"]


class BudgetReached(Refusal, frozen=True):
    """A budget is used up. The turn ends, and a person can raise the budget.

    >>> BudgetReached("calls", 5_000, 5_000).sentence
    'Stopped: the agents in this conversation made 5,000 model calls, and the budget is 5,000. To \
continue, type /config budget.calls 10000, then send a prompt.'
    """

    budget: BudgetName
    used: float
    limit: float

    @property
    def sentence(self) -> str:
        what = f"{self._what}, and the budget is {self._shown(self.limit)}"
        return f"Stopped: {what}. To continue, {self._remedy}."

    @property
    def for_model(self) -> str:
        what = f"{self._what}, and the budget is {self._shown(self.limit)}"
        return f"Refused: {what}. This turn ends. Only the user can raise the budget."

    @property
    def _what(self) -> str:
        used = self._shown(self.used)
        match self.budget:
            case "cost":
                return f"the agents in this conversation spent {used}"
            case "calls":
                return f"the agents in this conversation made {used} model calls"
            case "depth":
                return f"this agent is already {used} levels deep and tried to start a child"
            case "agents":
                return (
                    f"this conversation already has {used} running agents and tried to start "
                    "another"
                )
            case "turns":
                return f"{used} turns in a row ran without a prompt from a person"
            case "turn_calls":
                return f"this turn made {used} model calls"

    @property
    def _remedy(self) -> str:
        raised = f"type /config budget.{self.budget} {self.limit * 2:.0f}"
        match self.budget:
            case "turns" | "turn_calls":  # a prompt starts the count again
                return f"send a prompt; to allow more, {raised} first"
            case "agents":
                return f"end agents with /kill, or {raised}, then send a prompt"
            case _:
                return f"{raised}, then send a prompt"

    def _shown(self, amount: float) -> str:
        return f"${amount:,.2f}" if self.budget == "cost" else f"{amount:,.0f}"
