"""The core in memory, synchronous and without a store, for tests of commands and contexts.

A test gives commands and compares logs and requests.

>>> from sapwood.core.commands import Rewind, SetMark
>>> world = CoreHarness()
>>> agent = world.start()
>>> world.turn(agent, "What is 6 x 7?", "42")
>>> world.do(SetMark(agent, "EASY")).message
"Marked 'EASY'."
>>> world.turn(agent, "And the meaning of it?", "That is harder.")
>>> world.do(Rewind(agent, "EASY")).message
"Rewound to 'EASY'."
>>> [message.parts[0].text for message in world.request(agent).messages]
['What is 6 x 7?', '42']
"""

from collections.abc import Sequence

from msgspec import structs

from sapwood.core import commands
from sapwood.core.account import account_of
from sapwood.core.content import Text
from sapwood.core.context import Context
from sapwood.core.decide import Accepted, Change, Decision, DecisionInput, decide, path_after_mark
from sapwood.core.events import HUMAN, Actor, AgentStarted, Recorded
from sapwood.core.evolve import evolve
from sapwood.core.ids import AgentId, CommandId
from sapwood.core.live_path import EMPTY, LivePath, Walk, follow, inherited
from sapwood.core.settings import Settings
from sapwood.core.state import State
from sapwood.core.token_count import Count, Counter
from sapwood.core.turn import fold_turn
from sapwood.core.view import Request, view
from sapwood.programs.registry import runs_turns


class CharacterCounter:
    """Counts one token per character, so that tests can state sizes."""

    name = "characters"
    exact = True

    def count(self, text: str) -> Count:
        """Returns one token per character."""
        return Count(len(text), exact=True)


class CoreHarness:
    """Agents with their logs, states and live paths, in memory."""

    def __init__(self, counter: Counter | None = None) -> None:
        self.counter: Counter = counter or CharacterCounter()
        self.logs: dict[AgentId, list[Recorded]] = {}
        self.states: dict[AgentId, State] = {}
        self.lives: dict[AgentId, LivePath] = {}
        self.commands = 0

    def copy(self) -> "CoreHarness":
        """Returns an independent copy."""
        other = CoreHarness(self.counter)
        other.logs = {agent: list(log) for agent, log in self.logs.items()}
        other.states = dict(self.states)
        other.lives = dict(self.lives)
        other.commands = self.commands
        return other

    def start(self, name: str = "", settings: Settings | None = None) -> AgentId:
        """Starts a new root agent and returns its id."""
        agent = AgentId(f"agent{len(self.logs) + 1}")
        self.do(commands.StartAgent(agent, name, settings or Settings(model="scripted")))
        return agent

    def turn(self, agent: AgentId, prompt: str, reply: str) -> None:
        """Adds a completed turn without tools."""
        self.do(commands.StartTurn(agent, (Text(prompt),)))
        self.do(commands.AddReply(agent, (Text(reply),)))
        self.do(commands.CompleteTurn(agent))

    def take_log(self, events: Sequence[Recorded]) -> None:
        """Adds an agent that has this log, which was written elsewhere."""
        agent = events[0].agent
        self.logs[agent] = list(events)
        state = State(agent)
        for recorded in events:
            state = evolve(state, recorded)
        self.states[agent] = state
        self.lives[agent] = self.read_live(agent)

    def next_meta(self, actor: Actor = HUMAN, call: str | None = None) -> commands.CommandMeta:
        """Returns the sender, time and id of the next command."""
        number = self.commands + 1
        return commands.CommandMeta(CommandId(f"c{number}"), number * 1000, actor, call)

    def do(
        self, command: commands.Command, actor: Actor = HUMAN, call: str | None = None
    ) -> Decision:
        """Decides a command, applies its events and returns the decision."""
        given = self.next_meta(actor, call)
        self.commands += 1
        decision = decide(self.decision_input(command), command, given)
        if isinstance(decision, Accepted):
            for change in decision.changes:
                self._apply(change, given)
        return decision

    def request(self, agent: AgentId) -> Request:
        """Returns the request that the model would get now."""
        return view(self.states[agent], self.lives[agent])

    def request_at(self, agent: AgentId, version: int) -> Request:
        """Returns the request after the event of this version, computed from the log alone."""
        state = State(agent)
        for recorded in self.logs[agent][:version]:
            state = evolve(state, recorded)
        return view(state, self._walked(state))

    def decision_input(self, command: commands.Command) -> DecisionInput:
        """Returns the input of the decision on this command."""
        agent = command.agent
        others = {a: s for a, s in self.states.items() if a != agent}
        if isinstance(command, commands.Kill):
            others = {a: s for a, s in others.items() if agent in self.ancestors(a)}
        state = self.states.get(agent, State(agent))
        return DecisionInput(
            state,
            self.lives.get(agent, EMPTY),
            self.counter,
            others,
            frozenset(self.ancestors(agent)),
            account_of(self.states.values(), agent) if agent in self.states else None,
            self._since_mark(command),
            state.origin is not None and runs_turns(state.origin.source),
            self._uncut(command),
        )

    def _uncut(self, command: commands.Command) -> LivePath | None:
        if not isinstance(command, commands.Restore) or command.agent not in self.states:
            return None
        context = self.states[command.agent].context
        return self.read_live(command.agent, structs.replace(context, cuts=None))

    def _since_mark(self, command: commands.Command) -> LivePath | None:
        if not isinstance(command, commands.Fork) or command.agent not in self.states:
            return None
        state, live = self.states[command.agent], self.lives[command.agent]
        context = path_after_mark(state, live, command)
        return self.read_live(command.agent, context) if context else None

    def ancestors(self, agent: AgentId) -> list[AgentId]:
        """Returns the parent, its parent, and so on."""
        found: list[AgentId] = []
        state = self.states.get(agent)
        while state is not None and state.parent is not None:
            found.append(state.parent)
            state = self.states.get(state.parent)
        return found

    def read_live(self, agent: AgentId, context: Context | None = None) -> LivePath:
        """Reads the live path of the agent, or of another context, from the logs."""
        state = self.states[agent]
        if context is not None:
            state = structs.replace(state, context=context, open=None)
        return self._walked(state)

    def _walked(self, state: State) -> LivePath:
        walk = Walk(state.context)
        while (wanted := walk.wanted()) is not None:
            walk.feed(self.logs[wanted.agent][wanted.first - 1 : wanted.last])
        if state.open is None:
            return walk.live()
        turn = self.logs[state.agent][state.open.first - 1 : state.version]
        return walk.live(fold_turn(turn))

    def _inherited(self, change: Change) -> LivePath | None:
        """Returns the part of the path of its parent with which a child starts, if it is one."""
        born = change.events[0]
        if not isinstance(born, AgentStarted) or born.parent is None:
            return EMPTY
        parents = structs.replace(self.lives[born.parent], open=None)
        return inherited(parents, born.context)

    def _apply(self, change: Change, given: commands.CommandMeta) -> None:
        agent = change.agent
        log = self.logs.setdefault(agent, [])
        live: LivePath | None = self.lives.get(agent) or self._inherited(change)
        for event in change.events:
            recorded = Recorded(agent, len(log) + 1, event, given.at, given.actor, given.id)
            log.append(recorded)
            state = evolve(self.states.get(agent, State(agent)), recorded)
            self.states[agent] = state
            live = follow(live, recorded, state.context) if live is not None else None
        self.lives[agent] = self.read_live(agent) if live is None else live
