"""Sapwood: everything is kept; you decide what the model sees.

>>> import asyncio, sapwood
>>> async def main() -> None:
...     async with sapwood.open(":memory:") as wood:
...         agent = await wood.start("demo")
...         await agent.record("Hello!", "Hello to you.")
...         print(len((await agent.request()).messages))
>>> asyncio.run(main())
2

Names are imported when they are first used, so that `import sapwood` costs next to nothing.
"""

TYPE_CHECKING = False  # that of `typing`, whose import would cost more than all of this
if TYPE_CHECKING:
    from sapwood.api import Agent, Sapwood, TurnRecorder, open
    from sapwood.api.sync import SyncAgent, SyncSapwood, SyncTurnRecorder, open_sync
    from sapwood.conversation.service import Outcome
    from sapwood.core.budget import Budget
    from sapwood.core.content import Got, Note, Said, Text, Thinking, ToolCall, Usage
    from sapwood.core.counting import Count, show
    from sapwood.core.diff import ContextDiff
    from sapwood.core.errors import LogError, RefusedError, SapwoodError
    from sapwood.core.events import Actor, Recorded
    from sapwood.core.ids import EventRef
    from sapwood.core.log import Cursor, Facts, Hit, Tailed
    from sapwood.core.settings import Settings
    from sapwood.core.state import Letter, State
    from sapwood.core.view import Block, Message, Request, ToolResult
    from sapwood.runtime.replay import Replayed

__all__ = [
    "Actor",
    "Agent",
    "Block",
    "Budget",
    "ContextDiff",
    "Count",
    "Cursor",
    "EventRef",
    "Facts",
    "Got",
    "Hit",
    "Letter",
    "LogError",
    "Message",
    "Note",
    "Outcome",
    "Recorded",
    "RefusedError",
    "Replayed",
    "Request",
    "Said",
    "Sapwood",
    "SapwoodError",
    "Settings",
    "State",
    "SyncAgent",
    "SyncSapwood",
    "SyncTurnRecorder",
    "Tailed",
    "Text",
    "Thinking",
    "ToolCall",
    "ToolResult",
    "TurnRecorder",
    "Usage",
    "open",
    "open_sync",
    "show",
]

_HOMES = {
    "sapwood.api": "Agent Sapwood TurnRecorder open",
    "sapwood.api.sync": "SyncAgent SyncSapwood SyncTurnRecorder open_sync",
    "sapwood.conversation.service": "Outcome",
    "sapwood.core.budget": "Budget",
    "sapwood.core.content": "Got Note Said Text Thinking ToolCall Usage",
    "sapwood.core.counting": "Count show",
    "sapwood.core.diff": "ContextDiff",
    "sapwood.core.errors": "LogError RefusedError SapwoodError",
    "sapwood.core.events": "Actor Recorded",
    "sapwood.core.ids": "EventRef",
    "sapwood.core.log": "Cursor Facts Hit Tailed",
    "sapwood.core.settings": "Settings",
    "sapwood.core.state": "Letter State",
    "sapwood.core.view": "Block Message Request ToolResult",
    "sapwood.runtime.replay": "Replayed",
}

if not TYPE_CHECKING:  # so that a type checker still reports a name that does not exist

    def __getattr__(name: str) -> object:
        for home, names in _HOMES.items():
            if name in names.split():
                from importlib import import_module

                return getattr(import_module(home), name)
        raise AttributeError(f"module 'sapwood' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
