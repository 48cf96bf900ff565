"""Answers one HTTP request: finds the API, checks the request, chooses and sends the reply."""

import asyncio
import time
import traceback
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from msgspec import Struct, structs

from scripted_model.cache_diagnosis import CacheDiagnosis
from scripted_model.conversation import ModelRequest
from scripted_model.delivery import OutcomeRecorder, deliver_failure, deliver_stream, deliver_whole
from scripted_model.directives import ScriptError
from scripted_model.http_connection import HttpRequest, HttpResponse
from scripted_model.json_values import Json, JsonObject, decode, encode, is_object, text_at
from scripted_model.prepared_reply import PreparedReply, prepare_reply
from scripted_model.prompt_cache import BreakpointCache, PrefixCache
from scripted_model.reply import Reply
from scripted_model.reply_selector import SUMMARY, ReplySelector
from scripted_model.request_log import LoggedRequest, Outcome, Rejection, RequestLog
from scripted_model.routes import (
    DEFAULT_MODELS,
    ModelListRoute,
    Route,
    key_of,
    model_entry,
    model_list,
    route,
    wire_of,
)
from scripted_model.signatures import IdGenerator
from scripted_model.usage import TokenUsage, tokens
from scripted_model.wires import WIRES
from scripted_model.wires.wire import ErrorResponse, Post, Violation, Wire

_JSON = {"content-type": "application/json"}
_THREADS = 256


class Options(Struct, frozen=True, kw_only=True):
    """Settings of a server."""

    port: int = 0
    """The port to listen on; 0 takes a free port."""
    key: str | None = None
    """The only API key that is accepted; `None` accepts any."""
    models: tuple[str, ...] | None = None
    """The only models that exist; `None` means any."""
    context_limit: int | Mapping[str, int] | None = None
    """The largest number of input tokens, for all models or by model."""
    validate: bool = True
    """Whether requests that break a rule are rejected."""
    allow: Mapping[str, tuple[str, ...]] = {}
    """Further top-level fields to accept, by wire format."""
    piece: int = 16
    """Characters per piece of a stream."""
    delay: float = 0.0
    """Seconds between the events of a stream."""
    cache_minimum: int = 1024
    """The length of the shortest prefix that is cached, in tokens."""
    retry_after: float = 1.0
    """The `retry-after` of errors, in seconds."""
    summary: str = SUMMARY
    """The reply to a request for a summary of the conversation."""
    summary_words: tuple[str, ...] = ()
    """Further phrases by which such a request is recognised."""
    log: str | Path | None = None
    """A file to which every request is appended, one JSON object per line."""
    keep: int | None = None
    """How many requests are kept in memory; `None` keeps all."""

    def limit_of(self, model: str) -> int | None:
        """The largest number of input tokens of the model."""
        if isinstance(self.context_limit, Mapping):
            return self.context_limit.get(model)
        return self.context_limit


class _RequestFailed(Exception):
    """The client gets this error response."""

    def __init__(self, error_response: ErrorResponse, outcome: Outcome = "failed") -> None:
        super().__init__()
        self.error_response = error_response
        self.outcome: Outcome = outcome


class _Exchange(Struct, frozen=True):
    """One request to an API, and where its response goes."""

    wire: Wire
    post: Post
    logged: LoggedRequest
    response: HttpResponse
    record_outcome: OutcomeRecorder


class RequestHandler:
    """Handles requests. Many may be handled at the same time."""

    def __init__(self, options: Options, selector: ReplySelector, log: RequestLog) -> None:
        self._options = options
        self._selector = selector
        self._log = log
        self._ids = IdGenerator()
        self._breakpoint_cache = BreakpointCache(options.cache_minimum)
        self._prefix_cache = PrefixCache(options.cache_minimum)
        self._diagnosis = CacheDiagnosis()
        # A reply function may wait for the test. Other requests go on meanwhile.
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="scripted-model-script")

    def close(self) -> None:
        """Stops the threads of the reply function."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def clear(self) -> None:
        """Empties the caches."""
        self._breakpoint_cache.clear()
        self._prefix_cache.clear()
        self._diagnosis.clear()

    async def handle(self, http_request: HttpRequest, response: HttpResponse) -> None:
        """Handles one request and records its outcome."""
        body = _json(http_request.body)
        logged = self._log.begin(
            http_request.method,
            http_request.path,
            http_request.query,
            http_request.headers,
            body,
            http_request.body,
        )
        record_outcome: OutcomeRecorder = partial(self._log.end, logged)
        try:
            await self._route(http_request, body, logged, response, record_outcome)
        except _RequestFailed as failure:
            error_response = failure.error_response
            record_outcome(failure.outcome, error_response.status)
            await response.send(
                error_response.status,
                {**_JSON, **error_response.headers},
                encode(error_response.body),
            )
        except (ConnectionError, asyncio.CancelledError):
            self._log.end(logged, "abandoned")
            raise
        except Exception as error:
            # A bug in this server: the client gets an error and the test sees a rejection.
            trace = "".join(traceback.format_exception(error))
            self._log.reject(Rejection(logged.number, logged.wire, f"server: {trace}"))
            record_outcome("rejected", 500)
            await response.send(500, _JSON, encode({"error": {"message": str(error)}}))

    async def _route(
        self,
        http_request: HttpRequest,
        body: Json,
        logged: LoggedRequest,
        response: HttpResponse,
        record_outcome: OutcomeRecorder,
    ) -> None:
        found = route(http_request.method, http_request.path, http_request.headers)
        logged.wire = (
            wire_of(http_request.path, http_request.headers) if found is None else found.wire
        )
        wire = WIRES[logged.wire]
        if http_request.method in ("GET", "HEAD") and http_request.path in ("/", "/healthz"):
            record_outcome("answered", 200)
            await response.send(
                200, _JSON, b"" if http_request.method == "HEAD" else b'{"ok":true}'
            )
            return
        if found is None:
            problem = Violation(
                f"There is no API at {http_request.method} {http_request.path}.", status=404
            )
            raise _RequestFailed(wire.invalid_request_error(problem, self._ids))
        if self._options.key not in (None, key_of(http_request.headers, http_request.query)):
            raise _RequestFailed(wire.wrong_key_error(self._ids))
        if isinstance(found, ModelListRoute):
            listing = self._model_list(found, wire)
            record_outcome("answered", 200)
            await response.send(200, _JSON, encode(listing))
            return
        post = self._post(found, http_request.headers, body, wire, logged)
        exchange = _Exchange(wire, post, logged, response, record_outcome)
        await self._reply_to(exchange, sse=http_request.query.get("alt") == "sse")

    def _model_list(self, found: ModelListRoute, wire: Wire) -> JsonObject:
        models = self._options.models or DEFAULT_MODELS
        if found.model and self._options.models and found.model not in models:
            raise _RequestFailed(wire.unknown_model_error(found.model, self._ids))
        one = found.model
        return model_entry(wire.name, one) if one else model_list(wire.name, models)

    def _post(
        self,
        found: Route,
        headers: Mapping[str, str],
        body: Json,
        wire: Wire,
        logged: LoggedRequest,
    ) -> Post:
        if not is_object(body):
            problem = Violation("The request body is not valid JSON.")
            raise self._rejection(wire, logged, problem)
        allowed = frozenset(self._options.allow.get(wire.name, ()))
        return Post(found.action, body, headers, found.model, found.streams, allowed)

    async def _reply_to(self, exchange: _Exchange, *, sse: bool) -> None:
        wire, post = exchange.wire, exchange.post
        response, record_outcome = exchange.response, exchange.record_outcome
        if self._options.validate and (violation := wire.first_violation(post)) is not None:
            raise self._rejection(wire, exchange.logged, violation)
        model = post.model or text_at(post.body, "model")
        if self._options.models is not None and model not in self._options.models:
            raise _RequestFailed(wire.unknown_model_error(model, self._ids))
        if post.action == "count":
            total = tokens(sum(len(segment.data) for segment in wire.cache_segments(post)))
            await deliver_whole(response, wire.token_count(total), Reply(), record_outcome)
            return
        request = wire.parse_request(post)
        reply = await self._choose_reply(exchange, request)
        await asyncio.sleep(reply.sleep)
        if reply.status is not None and (reply.at is None or not request.stream):
            again = self._options.retry_after if reply.retry_after is None else reply.retry_after
            raise _RequestFailed(wire.scripted_error(reply.status, again, self._ids))
        prepared = self._prepare(exchange, request, reply)
        limit = self._options.limit_of(model)
        if limit is not None and prepared.usage.input > limit:
            await self._send_too_long(exchange, prepared, limit)
        elif not request.stream:
            await deliver_whole(response, wire.response_body(prepared), reply, record_outcome)
        elif wire.name == "gemini" and not sse:  # Gemini then sends a JSON list
            await deliver_whole(response, [wire.response_body(prepared)], reply, record_outcome)
        else:
            await deliver_stream(
                response, wire, prepared, reply, self._options.delay, record_outcome
            )

    async def _choose_reply(self, exchange: _Exchange, request: ModelRequest) -> Reply:
        """Returns the reply. An error in a script becomes a rejection, so that the test sees it."""
        try:
            if self._selector.function is None:
                return self._selector.reply(request)
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, self._selector.reply, request)
        except ScriptError as error:
            raise self._rejection(
                exchange.wire, exchange.logged, Violation(f"script: {error}")
            ) from None
        except Exception as error:
            trace = "".join(traceback.format_exception(error))
            problem = Violation(f"script: {error!r}\n{trace}", status=500)
            raise self._rejection(exchange.wire, exchange.logged, problem) from None

    def _prepare(self, exchange: _Exchange, request: ModelRequest, reply: Reply) -> PreparedReply:
        usage = self._record_usage(exchange.wire, exchange.post, request)
        created = int(time.time())
        name = self._ids.hexadecimal()
        found = self._diagnosis.report(exchange.wire.name, exchange.post, name)
        return prepare_reply(
            structs.replace(request, reported={**request.reported, **found}),
            reply,
            name=name,
            usage=usage,
            ids=self._ids,
            new_call_id=exchange.wire.new_call_id,
            splits_calls=request.stream and exchange.wire.name != "gemini",
            created=created,
            piece=self._options.piece,
        )

    def _record_usage(self, wire: Wire, post: Post, request: ModelRequest) -> TokenUsage:
        cache = self._breakpoint_cache if wire.name == "anthropic" else self._prefix_cache
        scope = f"{wire.name} {request.model} {text_at(post.body, 'prompt_cache_key')}"
        return cache.record(scope, wire.cache_segments(post), time.monotonic())

    async def _send_too_long(
        self, exchange: _Exchange, prepared: PreparedReply, limit: int
    ) -> None:
        error_response = exchange.wire.context_length_error(prepared, limit)
        if isinstance(error_response, ErrorResponse):
            raise _RequestFailed(error_response)
        await deliver_failure(exchange.response, error_response, exchange.record_outcome)

    def _rejection(self, wire: Wire, logged: LoggedRequest, violation: Violation) -> _RequestFailed:
        self._log.reject(
            Rejection(logged.number, wire.name, violation.message, violation.param, violation.code)
        )
        return _RequestFailed(wire.invalid_request_error(violation, self._ids), "rejected")


def _json(raw: bytes) -> Json:
    """The body as JSON, or as text if it is not valid JSON."""
    try:
        return decode(raw) if raw else None
    except ValueError:
        return raw.decode("utf-8", "replace")
