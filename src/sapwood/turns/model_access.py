"""The interface to models, and the manifest that is stored before each model call.

How much a model may send in one reply. A reply that exceeds it ends as a failure.

Each tool call of a reply is stored, may ask a person, and gets a result; each word is masked, shown
and stored. So a reply without bounds would keep the process busy, whatever its time limit is.
"""

import hashlib
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

import msgspec

from sapwood.core.budget import estimate_of
from sapwood.core.commands import CallModel
from sapwood.core.content import ReplyPart, ToolCall
from sapwood.core.errors import LogError
from sapwood.core.file_part import File
from sapwood.core.model_calls import Answer, CallHints, Delta, Failure, ToolSpec
from sapwood.core.state import State
from sapwood.core.token_count import Counter
from sapwood.core.turn_params import TurnParams
from sapwood.core.view import Request
from sapwood.core.view.request import digest
from sapwood.turns.clock_and_ids import now
from sapwood.turns.open_agent import OpenAgent

_log = logging.getLogger("sapwood.models")


class ModelAccess(Protocol):
    """Sends requests to models. `sapwood.models` provides it."""

    def stream(
        self,
        request: Request,
        tools: Sequence[ToolSpec] = (),
        *,
        params: Mapping[str, object] | None = None,
    ) -> AsyncIterator[Delta | Answer]:
        """Sends a request. Yields the deltas as they arrive, then the whole answer, once.

        Raises `Failure` if there is no answer.
        """
        ...

    def window_of(self, model: str) -> int | None:
        """The context window of the model in tokens; None if it is unknown."""
        ...


@runtime_checkable
class ProviderAccess(Protocol):
    """What model access may have besides: features that some providers offer."""

    def stream(
        self,
        request: Request,
        tools: Sequence[ToolSpec] = (),
        *,
        params: Mapping[str, object] | None = None,
        hints: CallHints,
    ) -> AsyncIterator[Delta | Answer]:
        """The same as without hints, which a provider may ignore."""
        ...

    async def count(self, request: Request, tools: Sequence[ToolSpec] = ()) -> int | None:
        """The tokens of a request as its provider counts them; None if it does not."""
        ...

    def summarises(self, model: str) -> str:
        """The provider that writes summaries with this model itself; '' if it does not."""
        ...


def hinted_stream(
    models: ModelAccess,
    request: Request,
    tools: Sequence[ToolSpec],
    hints: CallHints,
    params: Mapping[str, object] | None = None,
) -> AsyncIterator[Delta | Answer]:
    """Sends a request, with the hints if the access to models takes any."""
    with _as_failure():
        if (provider := provider_access(models)) is not None:
            return provider.stream(request, tools, params=params, hints=hints)
        return models.stream(request, tools, params=params)


def provider_access(models: object) -> ProviderAccess | None:
    """The access to models as one to features of providers; None if it has none."""
    return models if isinstance(models, ProviderAccess) else None


def hints_of(opened: OpenAgent) -> CallHints:
    """What a provider may use besides the next request of an agent.

    A fork shares the cache of its parent as long as turns of the parent are in view.
    """
    state, live = opened.state, opened.live
    turn = state.open.first if state.open else state.version + 1
    last = state.last_call.followed(state.version, now(), turn)
    owner = next((each.agent for each in live.turns[:1]), state.agent)
    return CallHints(owner, last.response, last.lifetime, agent=state.agent)


def params_of(state: State, base: TurnParams) -> TurnParams:
    """The parameters of model calls: those of the open turn, then of the agent, then of `base`."""
    params = state.settings.params.over(base)
    own = state.open.params if state.open else None
    return params if own is None else own.over(params)


def manifest_of(
    opened: OpenAgent,
    request: Request,
    tools: Sequence[ToolSpec],
    counter: Counter,
    instruction: str = "",
    params: Mapping[str, object] | None = None,
    summarised: int = 0,
) -> CallModel:
    """Returns the command that stores the manifest. The estimate includes instruction and tools."""
    offered = msgspec.json.encode(tools)
    size = counter.count(offered.decode()).tokens if tools else 0
    beside = counter.count(instruction).tokens + size
    return CallModel(
        opened.state.agent,
        request.model,
        digest(request),
        estimate=estimate_of(opened.state, opened.live, counter) + beside,
        params=msgspec.json.encode(params or {}, order="deterministic").decode(),
        tools=hashlib.sha256(offered).hexdigest(),
        instruction=instruction,
        offered=size,
        summarised=summarised,
    )


MAX_CALLS = 200
"""Tool calls in one reply."""

MAX_CHARACTERS = 8_000_000
"""Characters in one reply: twice as many as the longest answer that a provider offers."""


async def bounded_reply(pieces: AsyncIterator[Delta | Answer]) -> AsyncGenerator[Delta | Answer]:
    """Yields the pieces of a reply. Raises `Failure` where the reply becomes too large.

    Whatever else the access to models raises becomes a `Failure` too, so that the turn ends.
    """
    calls = characters = 0
    try:
        with _as_failure():
            async for piece in pieces:
                if isinstance(piece, Answer):
                    calls = sum(isinstance(part, ToolCall) for part in piece.parts)
                    characters = sum(map(_length, piece.parts))
                else:
                    calls += piece.kind == "call" and bool(piece.name)
                    characters += len(piece.text)
                _require_within(calls, characters)
                yield piece
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()


@contextmanager
def _as_failure() -> Generator[None]:
    """Raises every exception as a `Failure`, except those of the log, after which one tries again.

    The exception may name hosts or keys: only its class is told, and the log of the process has it.
    """
    try:
        yield
    except (Failure, LogError):
        raise
    except Exception as error:
        _log.error("The access to models raised", exc_info=error)
        raise Failure(
            "other",
            f"Calling the model failed with {type(error).__name__}. The log of the process that "
            "called it has the details.",
        ) from error


def _require_within(calls: int, characters: int) -> None:
    if calls > MAX_CALLS:
        raise Failure(
            "other",
            f"The model made more than {MAX_CALLS} tool calls in one reply. None of them was run. "
            "Ask for fewer steps at a time.",
        )
    if characters > MAX_CHARACTERS:
        raise Failure(
            "other",
            f"The model's reply was longer than {MAX_CHARACTERS:,} characters and was cut off "
            "there. Ask for a shorter answer.",
        )


def _length(part: ReplyPart) -> int:
    match part:
        case ToolCall(args=args):
            return len(args)
        case File(data=data):
            return len(data)
        case _:
            return len(part.text)
