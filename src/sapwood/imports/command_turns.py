"""Turns of a program in which a person gave a context command of Sapwood to that same session.

The command changes the log at once, and the session when it is closed. The turn itself ends after
the command, so an import meets it later.
"""

from sapwood.core.content import Text
from sapwood.core.events import (
    ContextRedone,
    ContextReverted,
    ContextRewound,
    ContextUndone,
    Recorded,
    TurnRecorded,
)
from sapwood.core.ids import AgentId, Space, TurnRef
from sapwood.programs.transcripts.transcript_events import TranscriptTurn
from sapwood.turns.log import Log

_RECENT = 32
_PLUGIN = "/sapwood:"
"""The beginning of every command of the plugin."""


async def has_own_command(log: Log, space: Space, agent: AgentId, turn: TranscriptTurn) -> bool:
    """Whether the newest move of the agent's context was asked for in this turn.

    The program writes the rows of a plugin's command when the command has run already. A tool call
    of the turn runs between its first row and its last.
    """
    move = await _newest_move(log, space, agent)
    if move is None or move.at > turn.last.at:
        return False
    asked = [part.text for part in turn.prompt if isinstance(part, Text)]
    return turn.first.at <= move.at or any(text.startswith(_PLUGIN) for text in asked)


async def parent_of_aside(log: Log, space: Space, turn: TurnRef | None) -> TurnRef | None:
    """The parent of a turn that was recorded aside; None for any other turn."""
    if turn is None:
        return None
    [recorded] = await log.read(space, turn.agent, turn.first, turn.first)
    event = recorded.event
    return event.parent if isinstance(event, TurnRecorded) and event.aside else None


async def _newest_move(log: Log, space: Space, agent: AgentId) -> Recorded | None:
    """The newest event that moved the end of the context."""
    moves = ContextRewound | ContextUndone | ContextRedone | ContextReverted
    for recorded in await log.read(space, agent, 1, None, limit=_RECENT, backward=True):
        if isinstance(recorded.event, moves):
            return recorded
    return None
