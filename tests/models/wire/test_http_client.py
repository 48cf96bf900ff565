"""The connection to a provider: what it sends, what it survives, and which way it goes."""

import asyncio
import ssl
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sapwood.core.content import Text
from sapwood.core.model_calls import Answer, Failure
from sapwood.models import Models, RetryPolicy, Timeouts
from sapwood.models.wire import sse
from tests.models.conversation import ask

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
CHUNK = b'data: {"choices":[{"delta":{"content":"Yes."},"finish_reason":%b}],"model":"m"}\n\n'
ANSWER = CHUNK % b'"stop"' + b"data: [DONE]\n\n"
SECRET = "sk-very-secret-indeed"


class Server:
    """Answers every request with the same bytes, and keeps what it was sent."""

    def __init__(self, reply: bytes, *, closes: bool = True) -> None:
        self.reply = reply
        self.closes = closes
        self.heads: list[bytes] = []
        self.url = ""

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head)
            writer.write(self.reply)
            await writer.drain()
            if not self.closes:
                await reader.read()  # until the client hangs up
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(server: Server, tls: ssl.SSLContext | None = None) -> AsyncGenerator[Server]:
    listener = await asyncio.start_server(server.connected, "127.0.0.1", 0, ssl=tls)
    scheme = "https" if tls else "http"
    server.url = f"{scheme}://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    async with listener:
        yield server


def models_at(url: str, silence: float = 10.0) -> Models:
    return Models(
        {"den": SECRET},
        urls={"den": f"{url}/v1"},
        retry=RetryPolicy(max_attempts=1),
        timeouts=Timeouts(connect=5.0, silence=silence),
    )


async def answer_from(url: str) -> Answer:
    async with models_at(url) as models:
        pieces = [piece async for piece in models.stream(ask("den:m", "Hello?"))]
    last = pieces[-1]
    assert isinstance(last, Answer)
    return last


async def failure_from(url: str) -> Failure:
    with pytest.raises(Failure) as caught:
        await answer_from(url)
    assert SECRET not in str(caught.value)
    return caught.value


async def test_an_answer_of_unknown_length_is_read_to_its_end() -> None:
    async with serving(Server(HEAD + b"\r\n" + ANSWER)) as server:
        assert (await answer_from(server.url)).parts == (Text("Yes."),)
    head = server.heads[0].lower()
    assert f"authorization: bearer {SECRET}".encode() in head
    assert b"accept-encoding: identity" in head


async def test_a_server_that_never_ends_a_complete_answer_is_not_waited_for() -> None:
    reply = HEAD + b"transfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (len(ANSWER), ANSWER)
    async with serving(Server(reply, closes=False)) as server:
        async with asyncio.timeout(8):
            assert (await answer_from(server.url)).parts == (Text("Yes."),)


@pytest.mark.parametrize(
    "body",
    [
        CHUNK % b"null",
        CHUNK % b"null" + b'data: {"choices"',
        b"",
        b": only a comment\n\n",
    ],
)
async def test_an_answer_without_an_end_is_cut(body: bytes) -> None:
    async with serving(Server(HEAD + b"\r\n" + body)) as server:
        failure = await failure_from(server.url)
    assert (failure.kind, failure.again) == ("cut", True)


@pytest.mark.parametrize(
    "body", [b"data: {not json\n\n", b'data: {"model":"\xff\xfe"}\n\n', b"data: 3\n\n"]
)
async def test_an_event_that_is_not_valid_is_a_failure(body: bytes) -> None:
    async with serving(Server(HEAD + b"\r\n" + body + ANSWER)) as server:
        failure = await failure_from(server.url)
    assert failure.kind == "cut"
    assert "an invalid answer" in str(failure)


async def test_events_and_fields_that_are_unknown_are_passed_over() -> None:
    body = b'event: news\ndata: {"object":"news","more":{"a":[1]}}\n\n' + ANSWER.replace(
        b'"model"', b'"obfuscation":"xx","model"'
    )
    async with serving(Server(HEAD + b"\r\n" + body)) as server:
        assert (await answer_from(server.url)).parts == (Text("Yes."),)


async def test_a_line_without_an_end_is_a_clear_failure() -> None:
    size = sse.MAX_LINE + 1
    async with serving(Server(HEAD + b"\r\ndata: " + b"x" * size)) as server:
        failure = await failure_from(server.url)
    assert failure.kind == "other"
    assert f"longer than {sse.MAX_LINE:,} bytes" in str(failure)


async def test_an_answer_that_is_no_stream_says_what_the_server_said() -> None:
    body = b'{"error":{"message":"This server does not stream."}}'
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    async with serving(Server(head % len(body) + body)) as server:
        failure = await failure_from(server.url)
    assert "This server does not stream." in str(failure)


@pytest.mark.parametrize(
    "body",
    [b"\n <html><h1>502 Bad Gateway</h1></html>", b'{"error":{"message":"502 Bad Gateway"}}'],
)
@pytest.mark.parametrize("kind", [b"text/html", b"text/plain", b"application/octet-stream", b""])
async def test_a_page_in_place_of_a_stream_says_what_it_says(kind: bytes, body: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\ncontent-length: %d\r\n\r\n"
    async with serving(Server(head % (kind, len(body)) + body)) as server:
        failure = await failure_from(server.url)
    assert "502 Bad Gateway" in str(failure)


async def test_a_stream_under_another_type_is_read_all_the_same() -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n"
    async with serving(Server(head + b": hello\n\n" + ANSWER)) as server:
        assert (await answer_from(server.url)).parts == (Text("Yes."),)


THOUGHT = b'data: {"choices":[{"delta":{"reasoning":"Hm."}}],"model":"m"}\n\n'
FILTERED = b'data: {"choices":[{"delta":{},"finish_reason":"content_filter"}],"model":"m"}\n\n'
REFUSED = b'data: {"choices":[{"delta":{"refusal":"I will not."},"finish_reason":"stop"}]}\n\n'


async def test_an_answer_that_is_only_thinking_and_a_refusal_is_a_failure() -> None:
    async with serving(Server(HEAD + b"\r\n" + THOUGHT + FILTERED)) as server:
        failure = await failure_from(server.url)
    assert failure.kind == "refused"
    assert "declined to answer" in str(failure)


async def test_thinking_alone_and_a_refusal_is_a_failure_at_anthropic_too() -> None:
    events = (
        b'{"type":"message_start","message":{"id":"msg_1","model":"claude-haiku-5-5"}}',
        b'{"type":"content_block_start","index":0,"content_block":{"type":"thinking",'
        b'"thinking":"Hm.","signature":"c2ln"}}',
        b'{"type":"message_delta","delta":{"stop_reason":"refusal"}}',
        b'{"type":"message_stop"}',
    )
    body = b"".join(b"data: %b\n\n" % event for event in events)
    async with serving(Server(HEAD + b"\r\n" + body)) as server:
        models = Models({"anthropic": SECRET}, urls={"anthropic": server.url})
        with pytest.raises(Failure, match=r"declined to answer \(refusal\)"):
            async for _ in models.stream(ask("anthropic:claude-haiku-5-5", "Hello?")):
                pass
        await models.aclose()


async def test_the_words_of_a_refusal_after_thinking_are_kept() -> None:
    async with serving(Server(HEAD + b"\r\n" + THOUGHT + REFUSED)) as server:
        answer = await answer_from(server.url)
    assert answer.parts[-1] == Text("I will not.")
    assert answer.ended == "refused"


async def test_a_redirect_is_not_followed() -> None:
    async with serving(Server(HEAD + b"\r\n" + ANSWER)) as other:
        head = b"HTTP/1.1 307 Temporary Redirect\r\nlocation: %b/v1\r\ncontent-length: 0\r\n\r\n"
        async with serving(Server(head % other.url.encode())) as server:
            failure = await failure_from(server.url)
    assert failure.kind == "refused"
    assert other.heads == []


async def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(Server(HEAD + b"\r\n" + ANSWER)) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        await answer_from("http://models.example")
    assert proxy.heads[0].startswith(b"POST http://models.example/v1/chat/completions ")


async def test_no_proxy_is_used_where_the_environment_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with (
        serving(Server(HEAD + b"\r\n" + ANSWER)) as server,
        serving(Server(HEAD + b"\r\n" + ANSWER)) as proxy,
    ):
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        await answer_from(server.url)
    assert proxy.heads == []


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A file with a key and a certificate for this machine that nobody else vouches for."""
    file = tmp_path / "certificate.pem"
    subprocess.run(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
        f"-keyout {file}.key -out {file} -subj /CN=localhost "
        "-addext subjectAltName=IP:127.0.0.1".split(),
        check=True,
        capture_output=True,
    )
    return file


async def test_a_certificate_authority_of_ones_own_is_trusted(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate, f"{certificate}.key")
    async with serving(Server(HEAD + b"\r\n" + ANSWER), tls) as server:
        failure = await failure_from(server.url)
        assert failure.kind == "no_network"
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert (await answer_from(server.url)).parts == (Text("Yes."),)


async def test_a_key_that_cannot_be_a_header_is_not_shown() -> None:
    async with serving(Server(HEAD + b"\r\n" + ANSWER)) as server:
        bad = Models({"den": "sk-se\ncret"}, urls={"den": server.url})
        with pytest.raises(Failure) as caught:
            await anext(bad.stream(ask("den:m", "Hello?")))
        await bad.aclose()
    assert "cret" not in str(caught.value)
    assert (caught.value.kind, caught.value.again) == ("refused", False)
    assert server.heads == []
