"""Everything that can have happened. Past tense, immutable, one class a kind.

A kind, once released, keeps its meaning for ever; new fields get defaults.
"""

from sapwood.core.events.agent import (
    AgentArchived,
    AgentForked,
    AgentKilled,
    AgentStarted,
    Focused,
    Pin,
    PinAdded,
    PinRemoved,
    SettingsChanged,
    Unfocused,
)
from sapwood.core.events.context import (
    Cause,
    ClearDeferred,
    ContextRedone,
    ContextRewound,
    ContextSummarized,
    ContextTrimmed,
    ContextUndone,
    MarkSet,
    ResultsMasked,
)
from sapwood.core.events.envelope import HUMAN, SYSTEM, Actor, Recorded, Role
from sapwood.core.events.mail import MailRead, MailReceived, MailSent
from sapwood.core.events.turn import (
    ModelCalled,
    ReplyAdded,
    Size,
    ToolFinished,
    ToolStarted,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    TurnRecorded,
    TurnStarted,
)

__all__ = [
    "HUMAN",
    "SYSTEM",
    "Actor",
    "AgentArchived",
    "AgentEvent",
    "AgentForked",
    "AgentKilled",
    "AgentStarted",
    "Cause",
    "ClearDeferred",
    "ContextEvent",
    "ContextRedone",
    "ContextRewound",
    "ContextSummarized",
    "ContextTrimmed",
    "ContextUndone",
    "Event",
    "Focused",
    "MailEvent",
    "MailRead",
    "MailReceived",
    "MailSent",
    "MarkSet",
    "ModelCalled",
    "Pin",
    "PinAdded",
    "PinRemoved",
    "Recorded",
    "ReplyAdded",
    "ResultsMasked",
    "Role",
    "SettingsChanged",
    "Size",
    "ToolFinished",
    "ToolStarted",
    "TurnCompleted",
    "TurnEvent",
    "TurnFailed",
    "TurnInterrupted",
    "TurnRecorded",
    "TurnStarted",
    "Unfocused",
]

AgentEvent = (
    AgentStarted
    | AgentForked
    | AgentArchived
    | AgentKilled
    | SettingsChanged
    | PinAdded
    | PinRemoved
    | Focused
    | Unfocused
)
TurnEvent = (
    TurnStarted
    | ModelCalled
    | ReplyAdded
    | ToolStarted
    | ToolFinished
    | TurnCompleted
    | TurnInterrupted
    | TurnFailed
    | TurnRecorded
)
ContextEvent = (
    MarkSet
    | ContextTrimmed
    | ContextSummarized
    | ContextRewound
    | ContextUndone
    | ContextRedone
    | ResultsMasked
    | ClearDeferred
)
MailEvent = MailSent | MailReceived | MailRead
Event = AgentEvent | TurnEvent | ContextEvent | MailEvent
