"""The words of replies that arrive in this process, and those that a command ends.

Words are stored beside the log, in one value that is replaced. When a reply is cut off, the words
go into the log in the commit that ends it. A word that comes at the same moment lets that commit
fail, so each word that was ever shown is in the log afterwards.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from sapwood.core.commands import (
    AddReply,
    CallModel,
    Command,
    CommandMeta,
    CompleteTurn,
    FailTurn,
    InterruptTurn,
    Kill,
    StreamReply,
)
from sapwood.core.decide import Accepted, Change
from sapwood.core.events import Event, ReplyAdded, ReplyLost, ReplyStreamed
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.live_path import LivePath
from sapwood.core.live_words import LiveWords
from sapwood.core.log_values import Append
from sapwood.core.state import State
from sapwood.core.turn import joined_parts
from sapwood.turns.log import Log

_ENDS_REPLY: frozenset[type[Command]] = frozenset(
    {InterruptTurn, FailTurn, CompleteTurn, CallModel, Kill}
)


class EndedWords(Struct, frozen=True):
    """What a command does to the words of replies that are arriving.

    `found` are the words of agents whose reply it cuts off; None for an agent without any.
    `stored` are agents whose reply it stores as a whole.
    """

    found: Mapping[AgentId, LiveWords | None] = {}
    stored: frozenset[AgentId] = frozenset()

    def added_to(self, live: LivePath, state: State) -> LivePath:
        """The live path of an agent with the words of its reply."""
        words, turn = self.found.get(state.agent), live.open
        if words is None or turn is None or not _is_of(words, state):
            return live
        streamed = joined_parts(turn.streamed, words.parts)
        return structs.replace(live, open=structs.replace(turn, streamed=streamed))

    def kept(self, accepted: Accepted, states: Mapping[AgentId, State]) -> Accepted:
        """The decision with the words of each reply that it does not keep itself."""
        changes = tuple(self._kept(change, states) for change in accepted.changes)
        return structs.replace(accepted, changes=changes)

    def are_kept_by(self, agent: AgentId, events: Sequence[Event]) -> bool:
        """Whether the events hold the words of the agent, if it has any."""
        return self.found.get(agent) is None or any(
            isinstance(event, ReplyAdded | ReplyLost) for event in events
        )

    def marked(self, append: Append) -> Append:
        """The append, which also deletes the words that it ends."""
        if append.agent in self.stored:
            return structs.replace(append, ends_words=True)
        if append.agent not in self.found:
            return append
        words = self.found[append.agent]
        last = words.command if words is not None else CommandId("")
        return structs.replace(append, ends_words=True, words=last)

    def _kept(self, change: Change, states: Mapping[AgentId, State]) -> Change:
        words, state = self.found.get(change.agent), states.get(change.agent)
        if words is None or state is None or not _is_of(words, state):
            return change
        if self.are_kept_by(change.agent, change.events):
            return change
        return Change(change.agent, (ReplyStreamed(words.parts), *change.events))


_NOTHING = EndedWords()


class ArrivingWords:
    """Stores words of replies for one dispatcher."""

    def __init__(self, log: Log, space: Space) -> None:
        self._log = log
        self._space = space
        self._known: dict[AgentId, LiveWords] = {}
        self._unstored: set[AgentId] = set()

    async def ended_by(
        self, commands: Sequence[Command], state: State, others: Mapping[AgentId, State]
    ) -> EndedWords:
        """What the commands do to the words of the agent, and of others that one of them kills."""
        for command in commands:
            if type(command) is AddReply:
                return EndedWords(stored=frozenset((state.agent,)))
            if type(command) in _ENDS_REPLY and not _is_aside(command):
                cut = [each.agent for each in (state, *others.values()) if _asked(each)]
                found = {agent: await self._log.words(self._space, agent) for agent in cut}
                return EndedWords(found) if found else _NOTHING
        return _NOTHING

    async def save(self, state: State, command: StreamReply, meta: CommandMeta) -> bool:
        """Adds words to those of the reply. Returns false if others have changed something.

        Then the caller reads the agent again, and tries again if the reply is still arriving.
        """
        agent, asked = state.agent, _asked(state)
        known = self._known.get(agent)
        if known is not None and known.asked != asked:
            known = None
        if known is not None and known.command == meta.id and agent not in self._unstored:
            return True
        before = known.command if known is not None and agent not in self._unstored else None
        parts = joined_parts(known.parts if known is not None else (), command.parts)
        words = LiveWords(asked, meta.id, parts)
        if await self._log.save_words(self._space, agent, state.version, words, before):
            self._keep(agent, words)
            return True
        stored = await self._log.words(self._space, agent)
        if stored is not None and stored.asked == asked:  # by another process, or by the last try
            self._keep(agent, stored)
            return stored.command == meta.id
        if known is not None:  # after a crash of the database
            self._unstored.add(agent)
        return False

    def forget(self, agent: AgentId) -> None:
        """Forgets the words of an agent: its reply has ended."""
        self._known.pop(agent, None)
        self._unstored.discard(agent)

    def _keep(self, agent: AgentId, words: LiveWords) -> None:
        self._known[agent] = words
        self._unstored.discard(agent)


def _asked(state: State) -> int:
    return state.open.asked if state.open is not None else 0


def _is_of(words: LiveWords, state: State) -> bool:
    return words.asked == _asked(state)


def _is_aside(command: Command) -> bool:
    """Whether a command calls a model outside of the turn, for a summary."""
    return isinstance(command, CallModel) and bool(command.instruction)
