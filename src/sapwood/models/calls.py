"""One call of one model: sends a request, yields deltas and at the end the answer.

Imported at the first call. It makes one attempt; `Models` decides about retries. API keys and
addresses are passed in and never read from the environment.

The settings of a call: the user's parameters, checked, and those that Sapwood always sets.

Turns errors of a call into `Failure`s with a message for people. Imported at the first call.

No message contains an API key. Providers quote parts of a key when they refuse it, so those
messages are not repeated; in all others every configured key is replaced.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import msgspec
from msgspec import Struct, field, structs

from sapwood.config.api_keys import key_origins, load_keys
from sapwood.config.config_file import ConfigError
from sapwood.core.content import ReplyPart, Text, ToolCall
from sapwood.core.model_calls import Answer, CallHints, Delta, Failure, ToolSpec
from sapwood.core.refusals.refusal import did_you_mean, nearest
from sapwood.core.view import Request
from sapwood.models.catalogue import model_names
from sapwood.models.model_facts import price_of
from sapwood.models.model_routes import ModelRoute, Wire
from sapwood.models.model_traits import claude_traits
from sapwood.models.retry import Timeouts
from sapwood.models.wire import anthropic_request, chat_request, gemini_request, responses_request
from sapwood.models.wire.anthropic_answer import MessagesReader
from sapwood.models.wire.chat_answer import ChatReader
from sapwood.models.wire.gemini_answer import GeminiAnswerReader
from sapwood.models.wire.http_client import HttpClient, HttpPost, drain
from sapwood.models.wire.message_parts import without_signed_summary
from sapwood.models.wire.provider_error import ProviderError, UnreadableReply
from sapwood.models.wire.responses_answer import ResponsesReader
from sapwood.models.wire.sse import ReplyTooLarge, ServerEvent
from sapwood.models.wire.wire_call import AnswerReader, WireCall, WireFormat, WireReply
from sapwood.trace_context import current_traceparent

_FORMATS: Mapping[Wire, WireFormat] = {
    "messages": WireFormat(anthropic_request.post_of, MessagesReader, anthropic_request.count_of),
    "responses": WireFormat(responses_request.post_of, ResponsesReader, responses_request.count_of),
    "chat": WireFormat(chat_request.post_of, ChatReader),
    "gemini": WireFormat(gemini_request.post_of, GeminiAnswerReader, gemini_request.count_of),
}
_OUTPUT = "output_schema"
"""The parameter for the JSON Schema of the answer."""
_SUMMARY_REFUSED = re.compile(r"compaction_(?!unavailable)")
"""The codes of Anthropic for a block with a summary that it does not take."""
_CACHE = re.compile(r"diagnostics|prompt_cache_(key|options)")
"""The fields about the cache, in the message of a server that does not know them."""
_COUNT_SECONDS = 10.0
_NO_KEY = "none"
"""Sent to servers that need no key; some want the header all the same."""


class Caller:
    """Makes calls, and keeps the connections open."""

    def __init__(self, keys: Mapping[str, str], timeouts: Timeouts) -> None:
        self._keys = keys
        self._http = HttpClient(timeouts)
        self._hintless: set[str] = set()

    async def aclose(self) -> None:
        """Closes all connections."""
        await self._http.aclose()

    async def call(
        self,
        route: ModelRoute,
        request: Request,
        tools: Sequence[ToolSpec],
        params: Mapping[str, object],
        hints: CallHints,
    ) -> AsyncGenerator[Delta | Answer]:
        """Makes one attempt: yields deltas, then the answer. Raises `Failure`.

        If a server refuses a call for something that the answer does not need, it is made without.
        """
        try:
            if route.url in self._hintless:
                hints = _without_cache(hints)
            call = self._wire_call(route, request, tools, params, hints)
            reader = _FORMATS[route.wire].reader(route)
            while True:
                try:
                    async with aclosing(self._deltas(call, reader)) as deltas:
                        async for delta in deltas:
                            yield delta
                    break
                except ProviderError as error:
                    simpler = self._simpler(call, error)
                    if simpler is None:
                        raise
                    call = simpler
            answer = _answer(reader.reply(), route)
        except Failure:
            raise
        except Exception as error:
            raise failure_of(error, route, self._keys.values()) from error
        yield answer

    def _simpler(self, call: WireCall, error: ProviderError) -> WireCall | None:
        """The call without what the server refused; None if that was something else.

        A provider may not take back a summary that it signed, for example in another account. A
        server that stands in for a provider may not know the fields about its cache.
        """
        if error.in_stream:
            return None
        plain = without_signed_summary(call.request)
        if plain is not call.request and any(map(_SUMMARY_REFUSED.match, error.codes)):
            return structs.replace(call, request=plain)
        if call.hints.cache_key and error.status in (400, 422) and _CACHE.search(error.words):
            self._hintless.add(call.route.url)
            return structs.replace(call, hints=_without_cache(call.hints))
        return None

    async def count(
        self, route: ModelRoute, request: Request, tools: Sequence[ToolSpec]
    ) -> int | None:
        """The tokens of a request, as the provider counts them; None if it does not."""
        count_of = _FORMATS[route.wire].count_of
        if count_of is None:
            return None
        try:
            post = count_of(self._wire_call(route, request, tools, {}, CallHints()))
            async with asyncio.timeout(_COUNT_SECONDS):
                body = await self._http.answer(_traced(post))
            counted = msgspec.json.decode(body, type=_Counted)
        except Exception:  # an estimate is good enough
            return None
        return counted.input_tokens or counted.total

    async def _deltas(self, call: WireCall, reader: AnswerReader) -> AsyncGenerator[Delta]:
        post = _traced(_FORMATS[call.route.wire].post_of(call))
        async with aclosing(self._http.events(post)) as events:
            async for event in events:
                for delta in _read(reader, event):
                    yield delta
                if reader.is_complete:
                    await drain(events)
                    break

    def _wire_call(
        self,
        route: ModelRoute,
        request: Request,
        tools: Sequence[ToolSpec],
        params: Mapping[str, object],
        hints: CallHints,
    ) -> WireCall:
        binds = route.wire == "messages" and claude_traits(route.model).binds
        given = {name: value for name, value in params.items() if name != _OUTPUT}
        settings = settings_for(route.wire, given, binds_thinking=binds)
        key = self._keys.get(route.account) or _NO_KEY
        schema = _schema(params.get(_OUTPUT))
        return WireCall(route, key, request, tools, settings, schema, hints)


def _without_cache(hints: CallHints) -> CallHints:
    return structs.replace(hints, cache_key="", previous="")


def _traced(post: HttpPost) -> HttpPost:
    if trace := current_traceparent():
        post.headers["traceparent"] = trace
    return post


class _Counted(Struct):
    """The number of tokens: of Anthropic and OpenAI, or of Google."""

    input_tokens: int | None = None
    total: int | None = field(default=None, name="totalTokens")


def _schema(text: object) -> dict[str, Any] | None:
    return msgspec.json.decode(text, type=dict[str, Any]) if isinstance(text, str) else None


def _read(reader: AnswerReader, event: ServerEvent) -> list[Delta]:
    try:
        return reader.feed(event)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableReply(str(error)) from error


def _answer(reply: WireReply, route: ModelRoute) -> Answer:
    """The answer of a reply. Raises `Failure` if it broke off or the model refused."""
    if reply.ending == "cut":
        raise Failure("cut", f"The answer from {route.title} was cut off. Try again.", again=True)
    if reply.ending == "broken":
        sentence = f"{route.title} stopped in the middle of its answer ({reply.reason}). Try again."
        raise Failure("cut", sentence, again=True)
    if reply.ending == "refused" and not any(isinstance(p, Text | ToolCall) for p in reply.parts):
        raise Failure("refused", f"{route.title} declined to answer ({reply.reason}).")
    reported = reply.model if route.catalogue else ""
    parts = tuple(_with_distinct_ids(reply.parts))
    model = f"{route.provider}:{reported or route.model}"
    return _priced(Answer(parts, model, reply.usage, reply.ending, reply.report))


def _with_distinct_ids(parts: Sequence[ReplyPart]) -> Iterator[ReplyPart]:
    """Gives each tool call an id of its own; some servers repeat an id within one answer."""
    seen: set[str] = set()
    for part in parts:
        if isinstance(part, ToolCall):
            while part.id in seen:
                part = structs.replace(part, id=f"{part.id}-{len(seen)}")
            seen.add(part.id)
        yield part


def _priced(answer: Answer) -> Answer:
    """The answer with its cost added, if the price is known."""
    if answer.usage is None:
        return answer
    price = price_of(answer.model, answer.usage)
    if price is None:
        return answer
    usage = structs.replace(answer.usage, cost=price.millionths)
    return structs.replace(answer, usage=usage)


_GENERAL = frozenset(
    """max_tokens temperature top_p top_k seed stop_sequences thinking parallel_tool_calls
    tool_choice presence_penalty frequency_penalty logit_bias service_tier""".split()
)
_PREFIXES: Mapping[Wire, str] = {
    "messages": "anthropic_",
    "responses": "openai_",
    "chat": "openai_",
    "gemini": "google_",
}
_ALWAYS: Mapping[Wire, Mapping[str, object]] = {
    # The cache mark on the system prompt also covers the tools before it. The provider itself puts
    # the other mark on the last message, so that it moves without changing bytes of the history.
    "messages": {"anthropic_cache_instructions": True, "anthropic_cache": True},
    # The provider stores nothing of a conversation; reasoning comes back encrypted instead.
    "responses": {"openai_store": False},
    "chat": {},
    "gemini": {},
}
_DROP_CHANGED_THINKING = {
    "type": "adaptive",
    "block_binding": {"prefix_mismatch_behavior": "drop_block"},
}


def settings_for(
    wire: Wire,
    params: Mapping[str, object],
    *,
    binds_thinking: bool = False,
) -> dict[str, object]:
    """The settings to send besides messages and tools. Raises `Failure` for an unknown parameter.

    Parameters of other providers are left out, so that the model can be switched in the middle of
    a conversation. `binds_thinking` means that the model refuses its earlier thinking when anything
    before it changed, for example because `head` moved; then the provider is asked to drop it.

    >>> settings_for("responses", {"temperature": 0.2, "anthropic_cache": "1h"})
    {'openai_store': False, 'temperature': 0.2}
    """
    known = {name: value for name, value in params.items() if _is_known(name)}
    settings = dict(_ALWAYS[wire])
    if binds_thinking and known.get("thinking") is not False:
        settings["anthropic_thinking"] = _DROP_CHANGED_THINKING
    settings |= {
        name: value
        for name, value in known.items()
        if name in _GENERAL or name.startswith(_PREFIXES[wire])
    }
    return settings


def _is_known(name: str) -> bool:
    if name in _GENERAL or name.startswith(tuple(_PREFIXES.values())):
        return True
    raise Failure(
        "refused",
        f"There is no parameter '{name}'.{did_you_mean(nearest(name, sorted(_GENERAL)))} "
        "Nothing was sent.",
    )


_CONTEXT = r"context (window|length|limit|size)|maximum context|exceed_context"
_PART = r"\b(strings?|images?|files?|documents?|audio|videos?|pdf)\b"
_TOO_LONG = re.compile(
    r"\b(prompt|inputs?|request|context|messages?|conversation|history)\b"
    rf"((?!{_PART}).){{0,40}}\btoo (long|large)"
    rf"|{_CONTEXT}|exceeds? .*tokens|tokens .*exceeds?|request_too_large",
    re.IGNORECASE,
)
_ANSWER_TOO_LONG = re.compile(
    rf"\W*max_(completion_|output_)?tokens\b(?!.*({_CONTEXT}))", re.IGNORECASE | re.DOTALL
)
"""The limit of the answer is refused: a shorter request would not help."""
_REQUEST_TOO_LARGE = re.compile(r"request too large", re.IGNORECASE)
"""In a rate limit of OpenAI: this request alone exceeds the limit of a minute."""
_NO_QUOTA = re.compile(r"\blimit: 0(?![\d.])")
"""In a rate limit of Google: the model is not in the plan of this account."""
_OVERLOADED = re.compile(r"overloaded|over capacity", re.IGNORECASE)
_NO_CREDIT = frozenset(
    """insufficient_quota billing_hard_limit_reached credit_balance_exhausted billing_error
    organization_spend_limit_exceeded project_spend_limit_exceeded
    organization_usage_limit_exceeded""".split()
)
_BAD_KEY = frozenset({"invalid_api_key", "authentication_error", "API_KEY_INVALID"})
_MAX_MESSAGE = 300
_MIN_KEY = 8


def failure_of(error: Exception, route: ModelRoute, keys: Iterable[str]) -> Failure:
    """The failure for an error that was raised during a call."""
    match error:
        case ProviderError():
            known = tuple(keys)
            words = _short(_without_keys(known, error.words)) or "it gave no reason."
            return _refused_call(error, route, known, words)
        case httpx2.TransportError():
            return _unreachable(error, route)
        case ReplyTooLarge():
            return Failure("other", f"The answer from {route.title} is too large: {error}.")
        case UnreadableReply():
            return Failure("cut", f"{route.title} sent an invalid answer.", again=True)
        case _:
            what = _without_keys(keys, f"{type(error).__name__}: {error}")
            return Failure("other", f"The call to {route.model} failed ({_short(what)}).")


def _refused_call(
    error: ProviderError, route: ModelRoute, keys: Iterable[str], words: str
) -> Failure:
    status, codes = error.status, error.codes
    if status == 402 or codes & _NO_CREDIT:
        return Failure("refused", f"The account at {route.title} has no credit left. {words}")
    if status in (401, 403) or codes & _BAD_KEY:
        return Failure("bad_key", _bad_key(route, keys, words if status == 403 else ""))
    if _is_too_long(error, words):
        return Failure("too_long", f"The request is too long for {route.model}: {words}")
    if status == 404 or "model_not_found" in codes:
        return Failure("no_model", _no_model(route))
    if status == 429:
        return _rate_limited(error, route, words if error.words.strip() else "")
    if status in (503, 529) or any(_OVERLOADED.search(code) for code in codes):
        return _retry_later(error, f"{route.title} is overloaded.")
    if status >= 500 or status in (408, 409):
        return _retry_later(error, f"{route.title} reported an error: {words}")
    if error.in_stream and not status:
        return Failure("cut", f"{route.title} ended the answer early: {words}", again=True)
    if status >= 300:
        return Failure("refused", f"{route.title} refused the request: {words}")
    return Failure("other", f"{route.title} gave no answer: {words}", again=True)


def _unreachable(error: httpx2.TransportError, route: ModelRoute) -> Failure:
    host = urlsplit(route.url).netloc.rpartition("@")[2]
    match error:
        case httpx2.TimeoutException():
            return Failure("no_network", f"{host} is not responding. Try again.", again=True)
        case httpx2.ReadError() | httpx2.RemoteProtocolError():
            return Failure("cut", f"The connection to {host} was lost. Try again.", again=True)
        case httpx2.LocalProtocolError() | httpx2.UnsupportedProtocol():
            sentence = (
                f"This request cannot be sent to {host}. Check the address and the API key: a key "
                "cannot contain spaces or line breaks."
            )
            return Failure("refused", sentence)
        case _:
            sentence = f"{host} cannot be reached. Check the network, then try again."
            return Failure("no_network", sentence, again=True)


def _rate_limited(error: ProviderError, route: ModelRoute, words: str) -> Failure:
    """The failure for a limit of requests, which is not retried if it holds for a day or longer."""
    sentence = f"{route.title} is rate limiting requests."
    if words:
        sentence = f"{route.title} is rate limiting requests: {words}"
    lasting = any("PerDay" in code for code in error.codes) or _NO_QUOTA.search(error.words)
    if lasting:
        return Failure("overloaded", f"{sentence.rstrip('.')}.", again=False)
    return _retry_later(error, sentence)


def _retry_later(error: ProviderError, sentence: str) -> Failure:
    after = error.after
    sentence = f"{sentence.rstrip('.')}."
    when = f" Try again in {after:.0f} s." if after and after >= 1 else " Try again later."
    return Failure("overloaded", sentence + when, again=error.again, after=after)


def _bad_key(route: ModelRoute, keys: Iterable[str], words: str) -> str:
    origin = _origin(route.account, keys)
    why = f" It says: {words}" if words else ""
    return (
        f"{route.title} rejected the API key{f' (from {origin})' if origin else ''}. To set "
        f"another one, type: sapwood config key {route.account}{why and '.'}{why}"
    )


def _origin(account: str, keys: Iterable[str]) -> str:
    """The variable or file that the key comes from; empty if the caller passed its own."""
    try:
        if load_keys().get(account, "").strip() not in set(keys):
            return ""
        return Path(key_origins().get(account, "")).name
    except ConfigError:
        return ""


def _no_model(route: ModelRoute) -> str:
    if not route.catalogue:
        return f"{route.title} has no model '{route.model}', or {route.url} is the wrong address."
    known = [name for name in model_names(route.catalogue) if name != route.model]
    hint = did_you_mean(nearest(route.model, known, 0.6))
    return f"{route.title} has no model '{route.model}'.{hint}"


def _is_too_long(error: ProviderError, words: str) -> bool:
    if error.status == 413 or "context_length_exceeded" in error.codes:
        return True
    if error.status == 429:
        return bool(_REQUEST_TOO_LARGE.search(words))
    if error.status not in (400, 422) or _ANSWER_TOO_LONG.match(words):
        return False
    return bool(_TOO_LONG.search(words))


def _short(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= _MAX_MESSAGE else line[: _MAX_MESSAGE - 1] + "…"


def _without_keys(keys: Iterable[str], words: str) -> str:
    for key in set(keys):
        if len(key) >= _MIN_KEY:
            words = words.replace(key, "[key]")
    return words
