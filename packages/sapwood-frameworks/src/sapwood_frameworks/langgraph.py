# pyright: basic, reportMissingImports=false
# The framework has an environment of its own, as all frameworks that exclude each other.
"""Conversations of LangGraph that are kept in Sapwood: a middleware, and messages by hand.

LangGraph's checkpoints hold the state of a graph, of which messages are one part. They stay with
LangGraph; Sapwood keeps the messages, and decides which of them the model sees.
"""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from sapwood.api import Agent, Sapwood
from sapwood.core.view import Request
from sapwood_frameworks.conversation import (
    BackgroundLoop,
    Conversation,
    Database,
    framework_missing,
)
from sapwood_frameworks.langchain_messages import item_of, messages_of

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain_core.messages import (
        AIMessage,
        AnyMessage,
        HumanMessage,
        SystemMessage,
        ToolMessage,
    )
    from langgraph.config import get_config
except ModuleNotFoundError as missing:
    raise framework_missing("langgraph", missing) from missing


_KINDS = {"ai": AIMessage, "human": HumanMessage, "tool": ToolMessage}


class SapwoodMessages:
    """The messages of one thread, for a graph of your own.

    `database` is an address as for `sapwood.open`, or an open `Sapwood`. A history of more than
    `cap` tokens is trimmed at its beginning; 0 trims nothing.
    """

    def __init__(
        self,
        thread_id: str,
        database: str | Path | Sapwood = ":memory:",
        *,
        space: str = "local",
        cap: int = 0,
    ) -> None:
        self.conversation = Conversation(Database(database, space=space), thread_id, cap=cap)

    async def agent(self) -> Agent:
        """Returns the agent that keeps this thread: for marks, rewind, undo, pins and search."""
        return await self.conversation.agent()

    async def load(self) -> list[AnyMessage]:
        """Returns what is in view; system texts and pins are a first system message."""
        request = await self.conversation.request()
        system = _system(None, request)
        return [*([system] if system else []), *_messages(request)]

    async def add(self, messages: Sequence[AnyMessage]) -> None:
        """Adds new messages; an answer without tool calls completes the turn."""
        await self.conversation.add(_items(messages))

    async def close(self) -> None:
        """Closes the database, if this object opened it."""
        await self.conversation.database.close()


class SapwoodMiddleware(AgentMiddleware):
    """Keeps the runs of an agent: `create_agent(…, middleware=[SapwoodMiddleware("h.db")])`.

    A run belongs to the conversation with the `thread_id` of its config. Before each model call,
    the messages in view are put in front of those of the run, and pins behind the system prompt.
    It works without a checkpointer; with one, the messages of earlier runs in the state of the
    graph are not sent.
    """

    def __init__(
        self,
        database: str | Path | Sapwood = ":memory:",
        *,
        space: str = "local",
        cap: int = 0,
    ) -> None:
        super().__init__()
        self._database = Database(database, space=space)
        self._cap = cap
        self._runs: dict[str, _Run] = {}
        self._background = BackgroundLoop()

    def conversation(self, thread_id: str) -> Conversation:
        """The conversation of a thread; its `agent()` has marks, rewind, undo and pins."""
        return Conversation(self._database, thread_id, cap=self._cap)

    async def aclose(self) -> None:
        """Closes the database, if the middleware opened it."""
        await self._database.close()

    def close(self) -> None:
        """Closes the database of a program without an event loop."""
        self._background.run(self._database.close())
        self._background.stop()

    # The hooks of LangChain, each with and without an event loop

    async def abefore_agent(self, state: Any, runtime: Any) -> None:
        """Remembers what is in view, and which messages of the state are new."""
        await self._begin(_thread(), list(state["messages"]))

    def before_agent(self, state: Any, runtime: Any) -> None:
        """As `abefore_agent`."""
        self._background.run(self._begin(_thread(), list(state["messages"])))

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        """Sends what is in view with the messages of the run, and stores the reply."""
        thread = _thread()
        response = await handler(await self._prepared(thread, request))
        await self._store(thread, response.result)
        return response

    def wrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]
    ) -> ModelResponse:
        """As `awrap_model_call`."""
        thread = _thread()
        response = handler(self._background.run(self._prepared(thread, request)))
        self._background.run(self._store(thread, response.result))
        return response

    async def aafter_agent(self, state: Any, runtime: Any) -> None:
        """Ends the turn."""
        await self._end(_thread(), list(state["messages"]))

    def after_agent(self, state: Any, runtime: Any) -> None:
        """As `aafter_agent`."""
        self._background.run(self._end(_thread(), list(state["messages"])))

    async def _begin(self, thread: str, messages: list[AnyMessage]) -> None:
        conversation = self.conversation(thread)
        first = len(messages)
        while first and isinstance(messages[first - 1], HumanMessage):
            first -= 1
        history = _messages(await conversation.request())
        self._runs[thread] = _Run(conversation, first, history)

    async def _run(self, thread: str, messages: Sequence[AnyMessage]) -> "_Run":
        """The run of a thread. After a restart in the middle of it, what is stored is in view."""
        if thread not in self._runs:
            run = _Run(self.conversation(thread), len(messages), [])
            last = len(messages)
            while last and isinstance(messages[last - 1], ToolMessage):
                last -= 1
            await run.conversation.add(_items(messages[last:]), completes=False)
            run.history = _messages(await run.conversation.request())
            self._runs[thread] = run
        return self._runs[thread]

    async def _prepared(self, thread: str, request: ModelRequest) -> ModelRequest:
        run = await self._run(thread, request.messages)
        await run.store(request.messages)
        stored = await run.conversation.request()
        return request.override(
            messages=[*run.history, *request.messages[run.first :]],
            system_message=_system(request.system_message, stored),
        )

    async def _store(self, thread: str, replies: Sequence[AnyMessage]) -> None:
        run = self._runs[thread]
        run.stored += len(replies)
        await run.conversation.add(_items(replies), completes=False)

    async def _end(self, thread: str, messages: list[AnyMessage]) -> None:
        run = await self._run(thread, messages)
        await run.store(messages)
        await run.conversation.add((), ends=True)
        self._runs.pop(thread, None)


class _Run:
    """One run: the index of its first message in the state, and how many of its are stored."""

    def __init__(self, conversation: Conversation, first: int, history: list[AnyMessage]) -> None:
        self.conversation = conversation
        self.first = first
        self.history = history
        self.stored = first

    async def store(self, messages: Sequence[AnyMessage]) -> None:
        new, self.stored = messages[self.stored :], max(self.stored, len(messages))
        await self.conversation.add(_items(new), completes=False)


def _thread() -> str:
    thread = get_config().get("configurable", {}).get("thread_id")
    if not thread:
        raise ValueError("Pass a thread: agent.invoke(…, {'configurable': {'thread_id': 'chat'}}).")
    return str(thread)


def _items(messages: Sequence[AnyMessage]) -> list[Any]:
    items = [item_of(message.type, message.model_dump()) for message in messages]
    return [item for item in items if item is not None]


def _messages(request: Request) -> list[Any]:
    return [_KINDS[kind](**fields) for kind, fields in messages_of(request)]


def _system(given: SystemMessage | None, request: Request) -> SystemMessage | None:
    texts = [given.text] if given else []
    texts += [block.text for block in request.system if block.text.strip()]
    return SystemMessage("\n\n".join(texts)) if texts else None
