"""Conversations of pydantic-ai that are kept in Sapwood: a capability, and a history by hand."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from sapwood.api import Agent, Sapwood
from sapwood.core.content import File, Note, RecordedResult, Text
from sapwood_frameworks.content_files import not_kept
from sapwood_frameworks.conversation import Conversation, Database, Item, Prompt, framework_missing

try:
    from pydantic_ai.capabilities import AbstractCapability, WrapRunHandler
    from pydantic_ai.messages import (
        BinaryContent,
        ModelMessage,
        ModelRequest,
        ModelResponse,
        RetryFeedbackPart,
        SystemPromptPart,
        ToolReturnPart,
        UserContent,
        UserPromptPart,
    )
    from pydantic_ai.models import Model, ModelRequestContext
    from pydantic_ai.run import AgentRunResult
    from pydantic_ai.tools import AgentDepsT, RunContext

    from sapwood_frameworks.pydantic_messages import history_of, instructions_of, recorded_reply
except ModuleNotFoundError as missing:
    raise framework_missing("pydantic-ai", missing) from missing


class SapwoodHistory:
    """The history of one conversation, for a program that passes `message_history` itself.

    `database` is an address as for `sapwood.open`, or an open `Sapwood`. A history of more than
    `cap` tokens is trimmed at its beginning; 0 trims nothing.
    """

    def __init__(
        self,
        conversation_id: str,
        database: str | Path | Sapwood = ":memory:",
        *,
        space: str = "local",
        cap: int = 0,
    ) -> None:
        self.conversation = Conversation(Database(database, space=space), conversation_id, cap=cap)

    async def agent(self) -> Agent:
        """Returns the agent that keeps this history: for marks, rewind, undo, pins and search."""
        return await self.conversation.agent()

    async def load(self, model: Model) -> list[ModelMessage]:
        """Returns what is in view, as messages for this model. Pins are left out."""
        return history_of(await self.conversation.request(), model)

    async def add(self, messages: Iterable[ModelMessage], model: Model) -> None:
        """Adds the messages of a run, as from `result.new_messages()`, and ends the turn."""
        items = [item for message in messages for item in _items(message, model)]
        await self.conversation.add(items, ends=True)

    async def close(self) -> None:
        """Closes the database, if the history opened it."""
        await self.conversation.database.close()


@dataclass
class SapwoodCapability(AbstractCapability[AgentDepsT]):
    """Keeps the runs of an agent in Sapwood: `Agent(…, capabilities=[SapwoodCapability("h.db")])`.

    A run belongs to the conversation with its `conversation_id`. Before each model call, the
    messages in view are put in front of those of the run; pins are added to the instructions. Each
    message of the run is stored when it is complete, so a run that was killed leaves its part.
    Leave `message_history` out: it would be sent twice.
    """

    database: str | Path | Sapwood
    space: str = "local"
    cap: int = 0

    def __post_init__(self) -> None:
        self._database = Database(self.database, space=self.space)

    async def close(self) -> None:
        """Closes the database, if the capability opened it."""
        await self._database.close()

    def conversation(self, conversation_id: str) -> Conversation:
        """The conversation with this id; its `agent()` has marks, rewind, undo and pins."""
        return Conversation(self._database, conversation_id, cap=self.cap)

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> AbstractCapability[AgentDepsT]:
        """Returns the capability of one run."""
        if ctx.conversation_id is None:
            return self
        return _Run[AgentDepsT](self.conversation(ctx.conversation_id))


@dataclass
class _Run(AbstractCapability[AgentDepsT]):
    """One run: what was in view before it, and how many of its messages are stored."""

    conversation: Conversation
    _history: list[ModelMessage] | None = None
    _stored: int = 0
    _model: Model | None = None

    async def wrap_run(
        self, ctx: RunContext[AgentDepsT], *, handler: WrapRunHandler
    ) -> AgentRunResult[Any]:
        self._stored = len(ctx.messages)
        try:
            result = await handler()
            if self._model is not None:
                await self._store(result.all_messages(), self._model)
            return result
        finally:
            await self.conversation.add((), ends=True)

    async def before_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        self._model = model = request_context.model
        request = await self.conversation.request()
        if self._history is None:
            self._history = history_of(request, model)
        await self._store(ctx.messages, model)
        parameters = request_context.model_request_parameters
        pins = instructions_of(request)
        return replace(
            request_context,
            messages=_after(self._history, request_context.messages),
            model_request_parameters=replace(
                parameters, instruction_parts=[*(parameters.instruction_parts or ()), *pins]
            ),
        )

    async def after_model_request(
        self,
        ctx: RunContext[AgentDepsT],
        *,
        request_context: ModelRequestContext,
        response: ModelResponse,
    ) -> ModelResponse:
        if len(ctx.messages) == self._stored:  # the response follows what is stored
            await self._add([response], request_context.model)
            self._stored += 1
        return response

    async def _store(self, messages: Sequence[ModelMessage], model: Model) -> None:
        new, self._stored = messages[self._stored :], max(self._stored, len(messages))
        await self._add(new, model)

    async def _add(self, messages: Sequence[ModelMessage], model: Model) -> None:
        items = [item for message in messages for item in _items(message, model)]
        await self.conversation.add(items, completes=False)


def _after(history: list[ModelMessage], messages: list[ModelMessage]) -> list[ModelMessage]:
    """The messages of a run after a history; its system prompts come first of all."""
    if not history or not messages or not isinstance(first := messages[0], ModelRequest):
        return [*history, *messages]
    system = [part for part in first.parts if isinstance(part, SystemPromptPart)]
    if not system:
        return [*history, *messages]
    rest = [part for part in first.parts if not isinstance(part, SystemPromptPart)]
    return [ModelRequest(system), *history, replace(first, parts=rest), *messages[1:]]


def _items(message: ModelMessage, model: Model) -> list[Item]:
    if isinstance(message, ModelResponse):
        return [recorded_reply(message, model)]
    items: list[Item] = []
    for part in message.parts:
        match part:
            case UserPromptPart():
                items.append(Prompt(_prompt_parts(part.content)))
            case ToolReturnPart():
                error = part.outcome != "success"
                files = tuple(_file(each) for each in part.files if isinstance(each, BinaryContent))
                named = [_words(each) for each in part.files if not isinstance(each, BinaryContent)]
                content = "\n\n".join([part.model_response_str(wrap_if_error=False), *named])
                items.append(RecordedResult(part.tool_call_id, content, error, files=files))
            case RetryFeedbackPart():
                items.append(Prompt((Note("program", part.model_response()),)))
            case _:
                pass
    return items


def _prompt_parts(content: str | Sequence[UserContent]) -> tuple[Text | File, ...]:
    """The texts and files of a prompt. Texts that follow each other are one part."""
    parts = [content] if isinstance(content, str) else content
    found: list[Text | File] = []
    for is_file, group in groupby(parts, lambda part: isinstance(part, BinaryContent)):
        if is_file:
            found += [_file(part) for part in group if isinstance(part, BinaryContent)]
        else:
            found.append(Text("\n\n".join(map(_words, group))))
    return tuple(found)


def _words(part: UserContent) -> str:
    if isinstance(part, str):
        return part
    return getattr(part, "content", "") or not_kept(type(part).__name__)


def _file(content: BinaryContent) -> File:
    return File.of(content.data, media_type=content.media_type)
