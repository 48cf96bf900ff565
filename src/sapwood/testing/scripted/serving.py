"""One request, from the bytes that came to the bytes that go. Ties the pure parts together."""

import asyncio
import time
import traceback
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from msgspec import Struct

from sapwood.testing.scripted.answering import answer_of
from sapwood.testing.scripted.asked import Asked
from sapwood.testing.scripted.caching import MarkedCache, PrefixCache
from sapwood.testing.scripted.delivering import (
    Ended,
    deliver_failure,
    deliver_stream,
    deliver_whole,
)
from sapwood.testing.scripted.journal import Journal, Logged, Outcome, Rejection
from sapwood.testing.scripted.jsontree import Json, JsonObject, decode, encode, is_object, text_at
from sapwood.testing.scripted.listing import DEFAULT_MODELS, listed, model_entry
from sapwood.testing.scripted.options import Options
from sapwood.testing.scripted.reply import Reply
from sapwood.testing.scripted.routes import Listing, Route, key_of, route, wire_of
from sapwood.testing.scripted.script.directives import ScriptError
from sapwood.testing.scripted.script.player import Player
from sapwood.testing.scripted.signing import Mint
from sapwood.testing.scripted.transport import Incoming, Outgoing
from sapwood.testing.scripted.usage import Spent, tokens
from sapwood.testing.scripted.wires import WIRES
from sapwood.testing.scripted.wires.wire import Answer, Post, Refusal, Violation, Wire

__all__ = ["Service"]

_JSON = {"content-type": "application/json"}
_THREADS = 256


class _Refused(Exception):
    """The request gets an error; whoever raises it knows which."""

    def __init__(self, refusal: Refusal, outcome: Outcome = "failed") -> None:
        super().__init__()
        self.refusal = refusal
        self.outcome: Outcome = outcome


class _Case(Struct, frozen=True):
    """A request that found its way."""

    wire: Wire
    post: Post
    logged: Logged
    out: Outgoing
    ended: Ended


class Service:
    """Answers requests, one at a time each, many at once."""

    def __init__(self, options: Options, player: Player, journal: Journal) -> None:
        self._options = options
        self._player = player
        self._journal = journal
        self._mint = Mint()
        self._marked = MarkedCache(options.cache_minimum)
        self._prefixes = PrefixCache(options.cache_minimum)
        # A Python script may wait for the test: it must not hold up the other requests.
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="scripted-model-script")

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def forget(self) -> None:
        """Empties the caches."""
        self._marked.forget()
        self._prefixes.forget()

    async def answer(self, incoming: Incoming, out: Outgoing) -> None:
        """Answers a request, and notes how it went."""
        body = _json(incoming.body)
        logged = self._journal.begin(
            incoming.method, incoming.path, incoming.query, incoming.headers, body, incoming.body
        )
        ended: Ended = partial(self._journal.end, logged)
        try:
            await self._answer(incoming, body, logged, out, ended)
        except _Refused as refused:
            refusal = refused.refusal
            ended(refused.outcome, refusal.status)
            await out.whole(refusal.status, {**_JSON, **refusal.headers}, encode(refusal.body))
        except (ConnectionError, asyncio.CancelledError):
            self._journal.end(logged, "abandoned")
            raise
        except Exception as error:
            # A mistake of this server: the client hears of it, and so does the test.
            trace = "".join(traceback.format_exception(error))
            self._journal.reject(Rejection(logged.number, logged.wire, f"server: {trace}"))
            ended("rejected", 500)
            await out.whole(500, _JSON, encode({"error": {"message": str(error)}}))

    async def _answer(
        self, incoming: Incoming, body: Json, logged: Logged, out: Outgoing, ended: Ended
    ) -> None:
        found = route(incoming.method, incoming.path, incoming.headers)
        logged.wire = wire_of(incoming.path, incoming.headers) if found is None else found.wire
        wire = WIRES[logged.wire]
        if incoming.method in ("GET", "HEAD") and incoming.path in ("/", "/healthz"):
            ended("answered", 200)
            await out.whole(200, _JSON, b"" if incoming.method == "HEAD" else b'{"ok":true}')
            return
        if found is None:
            problem = Violation(f"Nothing at {incoming.method} {incoming.path}.", status=404)
            raise _Refused(wire.invalid(problem, self._mint))
        if self._options.key not in (None, key_of(incoming.headers, incoming.query)):
            raise _Refused(wire.unauthorized(self._mint))
        if isinstance(found, Listing):
            listing = self._listing(found, wire)
            ended("answered", 200)
            await out.whole(200, _JSON, encode(listing))
            return
        post = self._post(found, incoming.headers, body, wire, logged)
        case = _Case(wire, post, logged, out, ended)
        await self._speak(case, sse=incoming.query.get("alt") == "sse")

    def _listing(self, found: Listing, wire: Wire) -> JsonObject:
        models = self._options.models or DEFAULT_MODELS
        if found.model and self._options.models and found.model not in models:
            raise _Refused(wire.unknown_model(found.model, self._mint))
        one = found.model
        return model_entry(wire.name, one) if one else listed(wire.name, models)

    def _post(
        self, found: Route, headers: Mapping[str, str], body: Json, wire: Wire, logged: Logged
    ) -> Post:
        if not is_object(body):
            problem = Violation("The request body is not valid JSON.")
            raise self._rejected(wire, logged, problem)
        allowed = frozenset(self._options.allow.get(wire.name, ()))
        return Post(found.action, body, headers, found.model, found.streams, allowed)

    async def _speak(self, case: _Case, *, sse: bool) -> None:
        wire, post, out, ended = case.wire, case.post, case.out, case.ended
        if self._options.validate and (broken := wire.first_violation(post)) is not None:
            raise self._rejected(wire, case.logged, broken)
        model = post.model or text_at(post.body, "model")
        if self._options.models is not None and model not in self._options.models:
            raise _Refused(wire.unknown_model(model, self._mint))
        if post.action == "count":
            total = tokens(sum(len(segment.data) for segment in wire.segments(post)))
            await deliver_whole(out, wire.counted(total), Reply(), ended)
            return
        asked = wire.read(post)
        reply = await self._play(case, asked)
        await asyncio.sleep(reply.sleep)
        if reply.status is not None and (reply.at is None or not asked.stream):
            again = self._options.retry_after if reply.retry_after is None else reply.retry_after
            raise _Refused(wire.failed(reply.status, again, self._mint))
        answer = self._prepared(case, asked, reply)
        limit = self._options.limit_of(model)
        if limit is not None and answer.spent.input > limit:
            await self._too_long(case, answer, limit)
        elif not asked.stream:
            await deliver_whole(out, wire.whole(answer), reply, ended)
        elif wire.name == "gemini" and not sse:  # which then streams a list, here of one
            await deliver_whole(out, [wire.whole(answer)], reply, ended)
        else:
            await deliver_stream(out, wire, answer, reply, self._options.delay, ended)

    async def _play(self, case: _Case, asked: Asked) -> Reply:
        """The reply; what goes wrong in a script is a rejection, so that no test misses it."""
        try:
            if self._player.playwright is None:
                return self._player.reply(asked)
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, self._player.reply, asked)
        except ScriptError as error:
            raise self._rejected(case.wire, case.logged, Violation(f"script: {error}")) from None
        except Exception as error:
            trace = "".join(traceback.format_exception(error))
            problem = Violation(f"script: {error!r}\n{trace}", status=500)
            raise self._rejected(case.wire, case.logged, problem) from None

    def _prepared(self, case: _Case, asked: Asked, reply: Reply) -> Answer:
        spent = self._spent(case.wire, case.post, asked)
        created = int(time.time())
        return answer_of(case.wire, asked, reply, spent, self._mint, created, self._options.piece)

    def _spent(self, wire: Wire, post: Post, asked: Asked) -> Spent:
        cache = self._marked if wire.name == "anthropic" else self._prefixes
        scope = f"{wire.name} {asked.model} {text_at(post.body, 'prompt_cache_key')}"
        return cache.spend(scope, wire.segments(post), time.monotonic())

    async def _too_long(self, case: _Case, answer: Answer, limit: int) -> None:
        refusal = case.wire.too_long(answer, limit)
        if isinstance(refusal, Refusal):
            raise _Refused(refusal)
        await deliver_failure(case.out, refusal, case.ended)

    def _rejected(self, wire: Wire, logged: Logged, violation: Violation) -> _Refused:
        self._journal.reject(
            Rejection(logged.number, wire.name, violation.message, violation.param, violation.code)
        )
        return _Refused(wire.invalid(violation, self._mint), "rejected")


def _json(raw: bytes) -> Json:
    """The body as JSON, or as text where it is none."""
    try:
        return decode(raw) if raw else None
    except ValueError:
        return raw.decode("utf-8", "replace")
