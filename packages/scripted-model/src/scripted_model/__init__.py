"""A scripted model server on loopback, for tests of programs that talk to language models.

The server speaks the APIs of Anthropic (Messages), OpenAI (Responses, Chat Completions) and Google
(Gemini). It replies what a script says, rejects requests that the real API would reject, records
every request, and fails on demand. The README has examples.
"""

from scripted_model.conversation import (
    Message,
    ModelRequest,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
)
from scripted_model.reply import PartLike, Reply, ReplyLike, call, fail, say, think
from scripted_model.request_log import LoggedRequest, Rejection
from scripted_model.server import ScriptedModel

__all__ = [
    "LoggedRequest",
    "Message",
    "ModelRequest",
    "PartLike",
    "Rejection",
    "Reply",
    "ReplyLike",
    "ScriptedModel",
    "Text",
    "Thinking",
    "Tool",
    "ToolCall",
    "ToolResult",
    "call",
    "fail",
    "say",
    "think",
]
