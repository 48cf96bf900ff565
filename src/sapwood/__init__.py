"""Sapwood: everything is kept; you decide what the model sees.

>>> import asyncio, sapwood
>>> async def main() -> None:
...     async with sapwood.open(":memory:") as db:
...         agent = await db.start("demo")
...         await agent.record("Hello!", "Hello to you.")
...         print(len((await agent.request()).messages))
>>> asyncio.run(main())
2

Names are imported when they are first used, so that `import sapwood` is fast.
`sapwood.__version__` is the version of the installed package.
"""

TYPE_CHECKING = False  # not the one of `typing`: importing it takes longer than all of this
if TYPE_CHECKING:
    from sapwood.api import Agent, Sapwood, TurnRecorder, open
    from sapwood.api.results import Result
    from sapwood.api.runtime import Runtime, runtime
    from sapwood.api.sync import SyncAgent, SyncSapwood, SyncTurnRecorder, SyncTurnStream, open_sync
    from sapwood.api.turn_stream import TurnError, TurnResult, TurnStream
    from sapwood.conversation.answers import Prompted
    from sapwood.conversation.service import Outcome
    from sapwood.core.budget import Budget
    from sapwood.core.content import (
        File,
        Note,
        RecordedReply,
        RecordedResult,
        Text,
        Thinking,
        ToolCall,
        Usage,
    )
    from sapwood.core.context_diff import ContextDiff
    from sapwood.core.erasure import ArchivedConversation, Erasure, Hold
    from sapwood.core.errors import AgentNotFound, LogError, RefusedError, SapwoodError
    from sapwood.core.events import Actor, Recorded
    from sapwood.core.ids import EventRef
    from sapwood.core.log_values import AgentSummary, Cursor, SearchHit, TailedEvent, Where
    from sapwood.core.model_calls import Delta
    from sapwood.core.settings import Settings
    from sapwood.core.state import State, UnreadMail
    from sapwood.core.token_count import Count, show
    from sapwood.core.turn_params import TurnParams
    from sapwood.core.view import Block, Message, Request, ToolResult
    from sapwood.engine.limits import DriveLimits
    from sapwood.turns.replay import Replayed
    from sapwood.workspace.function_toolbox import tool
    from sapwood.workspace.tool_output import ToolError
    from sapwood.workspace.tools.function_signature import ToolContext

    __version__: str

__all__ = [
    "Actor",
    "Agent",
    "AgentNotFound",
    "AgentSummary",
    "ArchivedConversation",
    "Block",
    "Budget",
    "ContextDiff",
    "Count",
    "Cursor",
    "Delta",
    "DriveLimits",
    "Erasure",
    "EventRef",
    "File",
    "Hold",
    "LogError",
    "Message",
    "Note",
    "Outcome",
    "Prompted",
    "Recorded",
    "RecordedReply",
    "RecordedResult",
    "RefusedError",
    "Replayed",
    "Request",
    "Result",
    "Runtime",
    "Sapwood",
    "SapwoodError",
    "SearchHit",
    "Settings",
    "State",
    "SyncAgent",
    "SyncSapwood",
    "SyncTurnRecorder",
    "SyncTurnStream",
    "TailedEvent",
    "Text",
    "Thinking",
    "ToolCall",
    "ToolContext",
    "ToolError",
    "ToolResult",
    "TurnError",
    "TurnParams",
    "TurnRecorder",
    "TurnResult",
    "TurnStream",
    "UnreadMail",
    "Usage",
    "Where",
    "open",
    "open_sync",
    "runtime",
    "show",
    "tool",
]

_HOMES = {
    "sapwood.api": "Agent Sapwood TurnRecorder open",
    "sapwood.api.results": "Result",
    "sapwood.api.runtime": "Runtime runtime",
    "sapwood.api.turn_stream": "TurnError TurnResult TurnStream",
    "sapwood.api.sync": "SyncAgent SyncSapwood SyncTurnRecorder SyncTurnStream open_sync",
    "sapwood.conversation.answers": "Prompted",
    "sapwood.conversation.service": "Outcome",
    "sapwood.core.budget": "Budget",
    "sapwood.core.content": "File RecordedResult Note RecordedReply Text Thinking ToolCall Usage",
    "sapwood.core.token_count": "Count show",
    "sapwood.core.context_diff": "ContextDiff",
    "sapwood.core.erasure": "ArchivedConversation Erasure Hold",
    "sapwood.core.errors": "AgentNotFound LogError RefusedError SapwoodError",
    "sapwood.core.events": "Actor Recorded",
    "sapwood.core.ids": "EventRef",
    "sapwood.core.log_values": "Cursor AgentSummary SearchHit TailedEvent Where",
    "sapwood.core.model_calls": "Delta",
    "sapwood.core.settings": "Settings",
    "sapwood.engine.limits": "DriveLimits",
    "sapwood.workspace.function_toolbox": "tool",
    "sapwood.workspace.tool_output": "ToolError",
    "sapwood.workspace.tools.function_signature": "ToolContext",
    "sapwood.core.state": "State UnreadMail",
    "sapwood.core.turn_params": "TurnParams",
    "sapwood.core.view": "Block Message Request ToolResult",
    "sapwood.turns.replay": "Replayed",
}

if not TYPE_CHECKING:  # so that a type checker still reports a name that does not exist

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import version

            return version("sapwood")
        for home, names in _HOMES.items():
            if name in names.split():
                from importlib import import_module

                return getattr(import_module(home), name)
        raise AttributeError(f"module 'sapwood' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
