"""A scripted model on loopback, for tests of whatever talks to models.

It speaks Anthropic's Messages, OpenAI's Responses and Chat Completions, and Gemini; refuses what
they would refuse; remembers what it was sent; and fails on demand. See `docs/guides/testing.md`.
"""

from sapwood.testing.scripted.asked import Asked, Tool
from sapwood.testing.scripted.journal import Logged, Rejection
from sapwood.testing.scripted.reply import Reply, call, fail, say, think
from sapwood.testing.scripted.server import ScriptedModel

__all__ = [
    "Asked",
    "Logged",
    "Rejection",
    "Reply",
    "ScriptedModel",
    "Tool",
    "call",
    "fail",
    "say",
    "think",
]
