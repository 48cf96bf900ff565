"""What a client asked, neutral between wire formats. The words are those of the core."""

from collections.abc import Iterable
from typing import Literal, TypeAlias

from msgspec import Struct

from sapwood.core.content import Text, Thinking, ToolCall
from sapwood.core.view import Message, ToolResult
from sapwood.testing.scripted.jsontree import JsonObject

__all__ = ["Asked", "MessagePart", "Role", "Tool", "alternating"]

MessagePart: TypeAlias = Text | Thinking | ToolCall | ToolResult
Role: TypeAlias = Literal["user", "assistant"]


class Tool(Struct, frozen=True):
    """A tool that the model was offered; a `free` one takes text instead of JSON.

    >>> Tool("weather", {"type": "object"}).name
    'weather'
    """

    name: str
    schema: JsonObject
    namespace: str = ""
    free: bool = False


class Asked(Struct, frozen=True, kw_only=True):
    """One request for a reply. `body` is what was sent, to the last field.

    `messages` are those of user and assistant in turn; what system messages say is in `system`.
    """

    vendor: str
    wire: str
    model: str
    system: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...]
    stream: bool
    body: JsonObject
    limit: int | None = None
    """The most tokens that the reply may have."""
    schema: JsonObject | None = None
    """The JSON schema that the reply must follow, if one was asked for."""
    thinks: bool = False
    """Whether the model has to think before it answers."""
    compacts: bool = False
    """Whether a summary of the conversation is asked for by the format itself."""

    @property
    def prompt(self) -> str:
        """The last words of the user.

        >>> from sapwood.core.content import Text
        >>> asked = Asked(
        ...     vendor="openai",
        ...     wire="chat",
        ...     model="m",
        ...     system="",
        ...     tools=(),
        ...     stream=False,
        ...     body={},
        ...     messages=(Message("user", (Text("Hello."),)),),
        ... )
        >>> asked.prompt
        'Hello.'
        """
        return next(
            (
                part.text
                for message in reversed(self.messages)
                if message.role == "user"
                for part in reversed(message.parts)
                if isinstance(part, Text)
            ),
            "",
        )

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The tool results that ended the request, if it ended with any."""
        last = self.messages[-1].parts if self.messages else ()
        return tuple(part for part in last if isinstance(part, ToolResult))

    def tool(self, name: str) -> Tool | None:
        """The tool of that name, if it was offered."""
        return next((tool for tool in self.tools if tool.name == name), None)


def alternating(spoken: Iterable[tuple[Role, Iterable[MessagePart]]]) -> tuple[Message, ...]:
    """Messages in which neighbours of one side have become one.

    >>> said = [("user", [Text("a")]), ("user", [Text("b")]), ("assistant", [Text("c")])]
    >>> [len(message.parts) for message in alternating(said)]
    [2, 1]
    """
    turns: list[tuple[Role, list[MessagePart]]] = []
    for role, parts in spoken:
        if not turns or turns[-1][0] != role:
            turns.append((role, []))
        turns[-1][1].extend(parts)
    return tuple(Message(role, tuple(parts)) for role, parts in turns if parts)
