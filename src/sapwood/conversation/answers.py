"""The typed answers to prompts and commands: a closed union that faces render.

Every answer has a `message`: one sentence or a few lines for a person who sees nothing else of it.
A command that may not be carried out is answered with a `Refusal` instead.
"""

from typing import Literal

from msgspec import Struct

from sapwood.conversation.context_breakdown import ContextBreakdown
from sapwood.core.command_table import Argument
from sapwood.core.context_diff import ContextDiff
from sapwood.core.ids import AgentId, EventRef
from sapwood.core.log_values import AgentSummary, SearchHit
from sapwood.core.plural import counted
from sapwood.core.settings import PermissionMode, Settings, typed_name
from sapwood.core.state import UnreadMail
from sapwood.core.token_count import Count, show
from sapwood.core.turn_numbers import Names
from sapwood.turns.replay import Replayed
from sapwood.workspace.permissions.kept_rules import SourcedRule


class LoadOffer(Struct, frozen=True):
    """A turn out of view that has what somebody names, and what bringing it back would cost.

    `line` is the command to type. `tokens` is the size of the quotation, and `cost` what the next
    call costs more with it, in millionths of a dollar; None if the price is not known. `turns`
    counts the turns with the first name; the newest of them is offered. `is_brought`: it came back
    already, because the setting `context.bring_tokens` allows it. `by_call`: not the prompt names
    it, but a tool call of the turn before.
    """

    names: tuple[str, ...]
    place: str
    line: str
    tokens: Count
    cost: int | None = None
    turns: int = 1
    is_brought: bool = False
    by_call: bool = False

    @property
    def sentence(self) -> str:
        """The offer as every face shows it.

        >>> LoadOffer(("retry.py",), "12", "/bring 12", Count(2_100, exact=False), 20_000).sentence
        'retry.py is only in turn 12, out of view. To bring it back (~2.1k, $0.02), type: /bring 12'
        """
        *others, last = self.names
        named = f"{', '.join(others)} and {last} are" if others else f"{last} is"
        cents = (self.cost or 0) // 10_000
        price = f", ${cents / 100:.2f}" if cents else ", under $0.01"
        price = "" if self.cost is None else price
        only = f"turn {self.place}, out of view"
        if self.turns > 1:
            only = f"{self.turns} turns out of view, last in turn {self.place}"
        if self.is_brought:
            return (
                f"Turn {self.place} was brought back ({show(self.tokens)}{price}): {named} in it."
            )
        used = "The last turn used what is out of view: " if self.by_call else ""
        return (
            f"{used}{named} only in {only}. "
            f"To bring it back ({show(self.tokens)}{price}), type: {self.line}"
        )


class Prompted(Struct, frozen=True, tag=True):
    """A prompt opened a turn; `turn` is the version of the log at which it starts.

    `message` says which pinned files could not be read again, and has the offer; it is empty if
    there is neither. `offer` is a turn out of view that has what the prompt names, or a tool call
    of the turn before.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as db:
    ...     db.start(id="demo").prompt("Hello!")
    Prompted(agent='demo', turn=2, message='', offer=None)
    """

    agent: AgentId
    turn: int
    message: str = ""
    offer: LoadOffer | None = None


class Changed(Struct, frozen=True, tag=True):
    """Something was recorded: a mark, a move of the context, a pin, a setting, an archived agent.

    Without `events` everything was so already.
    """

    agent: AgentId
    message: str
    events: tuple[EventRef, ...] = ()


class PromptToEdit(Struct, frozen=True, tag=True):
    """The context is before a turn again. `prompt` is what was asked there, to be changed."""

    agent: AgentId
    prompt: str
    message: str
    events: tuple[EventRef, ...] = ()


class Forked(Struct, frozen=True, tag=True):
    """A child was made. `taken_over`: it continues an imported or ended agent."""

    agent: AgentId
    child: AgentId
    message: str
    mark: str = ""
    taken_over: bool = False


class ConversationStarted(Struct, frozen=True, tag=True):
    """A fresh conversation takes the place of the agent that was archived, if there was one."""

    archived: AgentId | None
    agent: AgentId
    message: str = ""


class Switched(Struct, frozen=True, tag=True):
    """What follows is for another agent."""

    agent: AgentId

    @property
    def message(self) -> str:
        """Names the agent."""
        return f"Now with {self.agent}."


class MailSent(Struct, frozen=True, tag=True):
    """Mail waits in the mailbox of another agent."""

    to: AgentId
    message: str
    events: tuple[EventRef, ...] = ()


class MailRead(Struct, frozen=True, tag=True):
    """Unread mail was read. `message` holds it: for a model framed, for a person plain."""

    agent: AgentId
    message: str


class MailShown(Struct, frozen=True, tag=True):
    """Unread mail, which stays unread. `senders` are the names of those who wrote it."""

    agent: AgentId
    letters: tuple[UnreadMail, ...]
    senders: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """The mail, as a person reads it."""
        senders = self.senders or tuple(letter.sender for letter in self.letters)
        pairs = zip(self.letters, senders, strict=True)
        shown = (f"Mail from {who or 'outside'}:\n{letter.text}" for letter, who in pairs)
        return "\n\n".join(shown) or "No mail."


class Waited(Struct, frozen=True, tag=True):
    """A wait has ended: by mail, because agents are idle, or because its time is up."""

    agent: AgentId
    reason: Literal["mail", "idle", "time", "nobody"]
    message: str


class StillWaiting(Struct, frozen=True, tag=True):
    """A wait that cannot end yet; ask again after so many seconds."""

    agent: AgentId
    seconds: float

    @property
    def message(self) -> str:
        """Says that nothing has ended the wait."""
        return "Still waiting."


class AgentsKilled(Struct, frozen=True, tag=True):
    """Agents were ended: the one that was named, then its descendants."""

    agents: tuple[AgentId, ...]
    message: str


class Compacted(Struct, frozen=True, tag=True):
    """The outcome of a compaction; without `events` nothing was changed."""

    agent: AgentId
    message: str
    events: tuple[EventRef, ...] = ()


class SearchResults(Struct, frozen=True, tag=True):
    """What a search found, best first."""

    query: str
    hits: tuple[SearchHit, ...]

    @property
    def message(self) -> str:
        """A line for each turn, with its place and its best sentence, below its conversation."""
        lines: list[str] = []
        for before, hit in zip((None, *self.hits), self.hits, strict=False):
            if hit.name and (before is None or before.ref.agent != hit.ref.agent):
                lines.append(f"{hit.name}:")
            lines.append(f"{hit.shown_place}: {hit.snippet}")
        return "\n".join(lines) or "Nothing was found."


class PassageShown(Struct, frozen=True, tag=True):
    """The text of one event, or a part of a long one. `message` is that text."""

    ref: EventRef
    message: str


class AgentTree(Struct, frozen=True, tag=True):
    """The running agents, newest first."""

    agents: tuple[AgentSummary, ...]

    @property
    def message(self) -> str:
        """How many there are."""
        count = len(self.agents)
        return f"{counted(count, 'agent')}."


class ContextShown(Struct, frozen=True, tag=True):
    """What fills the window of an agent's model."""

    breakdown: ContextBreakdown

    @property
    def message(self) -> str:
        """The size in all."""
        return f"{self.breakdown.budget.total.tokens:,} tokens in view."


class RequestReplayed(Struct, frozen=True, tag=True):
    """What the model saw at a call; None where no model was called yet.

    `version` is the place that was asked for, if one was.
    """

    agent: AgentId
    replayed: Replayed | None
    version: int | None = None

    @property
    def message(self) -> str:
        """Whether the rebuilt request is the one that was sent."""
        if self.replayed is None:
            return f"{self.agent} has not made any model calls yet."
        return "The hash matches." if self.replayed.matches else "THE HASH DOES NOT MATCH."


class ContextsCompared(Struct, frozen=True, tag=True):
    """Two contexts of one agent, by what they were called, and what differs between them.

    `names` are those of the conversations of inherited turns.
    """

    left: str
    right: str
    diff: ContextDiff
    names: Names = {}

    @property
    def message(self) -> str:
        """How many turns only one of the two shows."""
        if self.diff.same:
            return f"{self.left} and {self.right} look the same to the model."
        count = len(self.diff.only_left) + len(self.diff.only_right)
        are = "is" if count == 1 else "are"
        return f"{counted(count, 'turn')} {are} in only one of them."


class FilesReverted(Struct, frozen=True, tag=True):
    """Files and context are those of an earlier moment."""

    agent: AgentId
    message: str
    events: tuple[EventRef, ...] = ()


class SettingShown(Struct, frozen=True, tag=True):
    """The value of one setting; `message` says it, or that there is none."""

    name: str
    value: str
    message: str


class SettingsShown(Struct, frozen=True, tag=True):
    """The settings of an agent; None before there is one."""

    settings: Settings | None

    @property
    def message(self) -> str:
        """One line a setting."""
        if self.settings is None:
            return "There is no conversation yet."
        names = self.settings.__struct_fields__
        return "\n".join(f"{typed_name(name)} {getattr(self.settings, name)}" for name in names)


class PermissionsShown(Struct, frozen=True, tag=True):
    """The permission mode of an agent, what it means, and the rules in the order of their use."""

    mode: PermissionMode
    meaning: str
    rules: tuple[SourcedRule, ...]

    @property
    def message(self) -> str:
        """The mode, then one line a rule with its source."""
        lines = [f"The permission mode is {self.mode}. {self.meaning}"]
        lines += [f"{each.rule}  ({each.source})" for each in self.rules] or ["There are no rules."]
        return "\n".join(lines)


class CommandHelp(Struct, frozen=True):
    """What a person is told of one command."""

    name: str
    line: str
    help: str
    aliases: tuple[str, ...] = ()
    for_models: bool = False
    during_turn: bool = True


class HelpShown(Struct, frozen=True, tag=True):
    """Help on commands: one, or all of them."""

    commands: tuple[CommandHelp, ...]

    @property
    def message(self) -> str:
        """One line a command."""
        return "\n".join(f"{each.line:<26} {each.help}" for each in self.commands)


class JobShown(Struct, frozen=True, tag=True):
    """A background command: its number, its line, what it has printed, and how far it is."""

    agent: AgentId
    job: int
    line: str
    output: str
    status: str

    @property
    def message(self) -> str:
        """The line, the output, and the state at the end."""
        return "\n".join(filter(None, (self.line, self.output.rstrip(), f"[{self.status}]")))


class ArgumentNeeded(Struct, frozen=True, tag=True):
    """The command of this name lacks an argument that a face can let a person pick."""

    command: str
    argument: Argument
    message: str


class Left(Struct, frozen=True, tag=True):
    """The person leaves; nothing that follows is carried out."""

    message: str = ""


Answer = (
    Prompted
    | Changed
    | PromptToEdit
    | Forked
    | ConversationStarted
    | Switched
    | MailSent
    | MailRead
    | MailShown
    | Waited
    | StillWaiting
    | AgentsKilled
    | Compacted
    | SearchResults
    | PassageShown
    | AgentTree
    | ContextShown
    | RequestReplayed
    | ContextsCompared
    | FilesReverted
    | SettingShown
    | SettingsShown
    | PermissionsShown
    | HelpShown
    | JobShown
    | ArgumentNeeded
    | Left
)
"""Every answer. A face matches on it and closes the match with `assert_never`."""
