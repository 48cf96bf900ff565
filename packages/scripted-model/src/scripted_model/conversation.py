"""A conversation in one form for all APIs: messages, their parts, and the request for a reply."""

from collections.abc import Iterable
from typing import Literal, TypeAlias

from msgspec import Struct

from scripted_model.json_values import JsonObject


class Text(Struct, frozen=True, tag="text", gc=False):
    """Text that the user or the model wrote.

    >>> Text("Is it cold in Oslo?").text
    'Is it cold in Oslo?'
    """

    text: str


class Thinking(Struct, frozen=True, tag="thinking", gc=False):
    """The thinking of a model, with the provider that signed it and its signature.

    >>> Thinking("Oslo is north.", provider="anthropic").provider
    'anthropic'
    """

    text: str
    provider: str = ""
    signature: str = ""


class ToolCall(Struct, frozen=True, tag="call", gc=False):
    """A tool call of the model. `args` is JSON text.

    >>> ToolCall("1", "weather", '{"city": "Oslo"}').name
    'weather'
    """

    id: str
    name: str
    args: str = "{}"


class ToolResult(Struct, frozen=True, tag="result", omit_defaults=True, gc=False):
    """The result of a tool call. `call` is the id of the call, `name` the name of the tool.

    >>> ToolResult("1", "weather", "-3 degrees").content
    '-3 degrees'
    """

    call: str
    name: str
    content: str
    error: bool = False


ReplyPart: TypeAlias = Text | Thinking | ToolCall
MessagePart: TypeAlias = Text | Thinking | ToolCall | ToolResult
Role: TypeAlias = Literal["user", "assistant"]


class Message(Struct, frozen=True, gc=False):
    """One message. Tool results are part of messages of the user.

    >>> Message("assistant", (Text("Let me look."), ToolCall("1", "weather"))).text
    'Let me look.'
    """

    role: Role
    parts: tuple[MessagePart, ...]

    @property
    def text(self) -> str:
        """The text of the message, without thinking, tool calls and results."""
        return "\n\n".join(part.text for part in self.parts if isinstance(part, Text))


class Tool(Struct, frozen=True):
    """A tool that the client offers to the model. `takes_text` means text instead of JSON.

    >>> Tool("weather", {"type": "object"}).name
    'weather'
    """

    name: str
    schema: JsonObject
    namespace: str = ""
    takes_text: bool = False


class ModelRequest(Struct, frozen=True, kw_only=True):
    """One request for a reply. `body` is the JSON as the client sent it.

    In `messages`, user and assistant alternate. The text of system messages is in `system`.

    >>> request = ModelRequest(
    ...     vendor="openai",
    ...     wire="chat",
    ...     model="m",
    ...     system="",
    ...     tools=(),
    ...     stream=False,
    ...     body={},
    ...     messages=(Message("user", (Text("Hello."),)),),
    ... )
    >>> request.prompt
    'Hello.'
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
    """The largest number of tokens that the reply may have."""
    schema: JsonObject | None = None
    """The JSON schema that the reply must follow, if the client sent one."""
    must_think: bool = False
    """Whether the client requires thinking before the reply."""
    wants_compaction: bool = False
    """Whether the request asks for a summary by a feature of the API, not by its text."""
    reported: JsonObject = {}
    """What the API reports about the request, as fields of its response."""

    @property
    def prompt(self) -> str:
        """The last text of the user."""
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
        """The tool results at the end of the request."""
        last = self.messages[-1].parts if self.messages else ()
        return tuple(part for part in last if isinstance(part, ToolResult))

    def tool(self, name: str) -> Tool | None:
        """Returns the offered tool of this name."""
        return next((tool for tool in self.tools if tool.name == name), None)


def merge_messages(spoken: Iterable[tuple[Role, Iterable[MessagePart]]]) -> tuple[Message, ...]:
    """Returns messages in which neighbours of the same role are merged.

    >>> said = [("user", [Text("a")]), ("user", [Text("b")]), ("assistant", [Text("c")])]
    >>> [len(message.parts) for message in merge_messages(said)]
    [2, 1]
    """
    turns: list[tuple[Role, list[MessagePart]]] = []
    for role, parts in spoken:
        if not turns or turns[-1][0] != role:
            turns.append((role, []))
        turns[-1][1].extend(parts)
    return tuple(Message(role, tuple(parts)) for role, parts in turns if parts)
