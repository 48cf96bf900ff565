"""Short words for specifications: who acts, what was answered, what a model would read."""

from sapwood.core.commands import (
    AddReply,
    Command,
    CompleteTurn,
    FinishTool,
    StartTurn,
)
from sapwood.core.content import Text, ToolCall
from sapwood.core.decide import Accepted
from sapwood.core.events import Actor, Event
from sapwood.core.ids import AgentId
from sapwood.core.refusals import Refusal
from sapwood.core.settings import Settings
from sapwood.core.view.request import Request, ToolResult
from sapwood.testing import CoreHarness

MODEL = Actor("model", "scripted")
CHILD_NOTE = "[You are a child agent."
"""How the note begins that tells a child that it is one."""


def conversation(turns: int = 0, settings: Settings | None = None) -> tuple[CoreHarness, AgentId]:
    """A world with one agent that has answered 'ask 1' with 'answer 1', and so on."""
    world = CoreHarness()
    agent = world.start(settings=settings)
    for number in range(1, turns + 1):
        world.turn(agent, f"ask {number}", f"answer {number}")
    return world, agent


def does(world: CoreHarness, command: Command) -> str:
    """A person gives the command; returns the line that was said."""
    decision = world.do(command)
    assert isinstance(decision, Accepted), decision
    return decision.message


def by_model(world: CoreHarness, command: Command, call: str | None = None) -> str:
    """A model gives the command; returns the line that was said."""
    decision = world.do(command, MODEL, call)
    assert isinstance(decision, Accepted), decision
    return decision.message


def refusal(world: CoreHarness, command: Command, actor: Actor | None = None) -> Refusal:
    """The reason why the command was refused; nothing changed because of it."""
    before = world.copy()
    decision = world.do(command) if actor is None else world.do(command, actor)
    assert isinstance(decision, Refusal), decision
    assert (world.logs, world.states, world.lives) == (before.logs, before.states, before.lives)
    return decision


def said(world: CoreHarness, agent: AgentId) -> list[str]:
    """The text of every message that the agent's model would be sent now.

    Without what a child is told about itself.
    """
    return texts_of(world.request(agent))


def texts_of(request: Request) -> list[str]:
    """The text of every message, without what a child is told about itself."""
    return [
        "\n\n".join(
            part.text
            for part in message.parts
            if isinstance(part, Text) and not part.text.startswith(CHILD_NOTE)
        )
        for message in request.messages
    ]


def results(world: CoreHarness, agent: AgentId) -> list[str]:
    """The tool results that the agent's model would be sent now."""
    parts = [part for message in world.request(agent).messages for part in message.parts]
    return [part.content for part in parts if isinstance(part, ToolResult)]


def kinds(world: CoreHarness, agent: AgentId) -> list[str]:
    """The kinds of the agent's events, oldest first."""
    return [recorded.kind for recorded in world.logs[agent]]


def last_event(world: CoreHarness, agent: AgentId) -> Event:
    """What happened last to the agent."""
    return world.logs[agent][-1].event


def opens(world: CoreHarness, agent: AgentId, prompt: str = "ask") -> None:
    """Opens a turn."""
    does(world, StartTurn(agent, (Text(prompt),)))


def uses_tool(world: CoreHarness, agent: AgentId, content: str, prompt: str = "ask") -> None:
    """A completed turn with one tool result."""
    call = f"call {len(world.logs[agent])}"
    opens(world, agent, prompt)
    does(world, AddReply(agent, (ToolCall(call, "read", "{}"),)))
    does(world, FinishTool(agent, call, content))
    does(world, AddReply(agent, (Text("answer"),)))
    does(world, CompleteTurn(agent))


def marked(world: CoreHarness, agent: AgentId) -> list[str]:
    """The names of the live marks, oldest first."""
    return [mark.name for mark in world.states[agent].marks]
