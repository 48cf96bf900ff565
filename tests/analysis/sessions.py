"""Builders of sessions for tests: prompts, tool calls with results, replies."""

from sapwood.analysis.session import Session
from sapwood.core.content import Text, ToolCall
from sapwood.core.ids import AgentId
from sapwood.core.turn import Item, Reply, Result, Turn

FOLDER = "/srv/shop"


class ToolRun:
    """A tool call with its result."""

    def __init__(self, name: str, args: str, content: str = "", *, error: bool = False) -> None:
        self.name = name
        self.args = args
        self.content = content
        self.error = error


def asked(prompt: str, *done: ToolRun | str) -> Turn:
    """A completed turn: the prompt, then what the model ran and said, in order."""
    items: list[Item] = []
    for number, each in enumerate(done):
        if isinstance(each, str):
            items.append(Reply(1, (Text(each),)))
        else:
            call = f"call {number}"
            items.append(Reply(1, (ToolCall(call, each.name, each.args),)))
            items.append(Result(1, call, each.content, each.error))
    return Turn(AgentId("a"), 1, None, (Text(prompt),), tuple(items), status="completed", last=2)


def session(*turns: Turn, source: str = "claude-code") -> Session:
    """A session of these turns."""
    return Session(source, "s-1", FOLDER, turns=turns)
