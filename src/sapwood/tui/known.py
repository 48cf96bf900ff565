"""Names that can be completed: marks, pins and turns of an agent, other agents, models."""

from sapwood.app.checkpointing import turns_to_revert_to
from sapwood.app.connection import Connection
from sapwood.core.log import Facts
from sapwood.core.state import State
from sapwood.display.text import one_line
from sapwood.models.names import PROVIDERS
from sapwood.tui.composer.choices import Known

__all__ = ["MODELS", "known_names", "model_names"]

_AGENTS = 200
MODELS = ("claude-sonnet-5-5", "claude-opus-5-5", "gpt-5", "gpt-5-mini", "gemini-3-pro")


async def known_names(connection: Connection, state: State | None) -> Known:
    """What is known now."""
    agents = await connection.log.agents(connection.space, limit=_AGENTS)
    return Known(
        marks=_marks(state) if state else (),
        agents=tuple(_agent(facts) for facts in agents if facts.status == "running"),
        models=model_names(),
        turns=await turns_to_revert_to(connection, state) if state else (),
        pins=tuple((pin.name, one_line(pin.text)[:60]) for pin in state.pins) if state else (),
    )


def model_names() -> tuple[tuple[str, str], ...]:
    """Models that are often wanted; any other name can be typed."""
    prefixes = ((f"{name}:", each.title) for name, each in PROVIDERS.items())
    return (*((name, "") for name in MODELS), *prefixes)


def _marks(state: State) -> tuple[tuple[str, str], ...]:
    named = [mark for mark in reversed(state.marks) if mark.name]
    return tuple((mark.name, f"#{mark.version}") for mark in named)


def _agent(facts: Facts) -> tuple[str, str]:
    name = one_line(facts.name)
    word = name if name and " " not in name else facts.agent
    return word, facts.agent if word == name else name
