"""The server: recorded requests, addresses, connections, load, start and stop."""

import asyncio
import gzip
import json
import socket
import threading
import tomllib
from http.client import HTTPConnection
from pathlib import Path

import pytest

from http_client import (
    WIRE_NAMES,
    Tree,
    ask,
    fetch,
    path_of,
    request_of,
    said,
    stream,
    streamed,
)
from scripted_model import ModelRequest, ScriptedModel


def port_of(server: ScriptedModel) -> int:
    return int(server.url.rpartition(":")[2])


def test_every_request_is_recorded_completely(server: ScriptedModel) -> None:
    body = request_of("anthropic", "hello", metadata={"user_id": "me"})
    fetch(server, "/v1/messages?beta=true", body)
    (logged,) = server.requests
    assert (logged.method, logged.path, logged.query) == ("POST", "/v1/messages", {"beta": "true"})
    assert logged.body == body
    assert (logged.wire, logged.status, logged.outcome) == ("anthropic", 200, "answered")
    assert logged.headers["content-type"] == "application/json"


def test_no_secret_is_logged(tmp_path: Path) -> None:
    file = tmp_path / "requests.jsonl"
    secrets = {
        "x-api-key": "sk-secret",
        "authorization": "Bearer sk-secret",
        "x-goog-api-key": "sk-secret",
        "cookie": "sk-secret",
    }
    with ScriptedModel(log=file) as server:
        fetch(server, "/v1/messages?key=sk-secret", request_of("anthropic", "hello"), secrets)
        (logged,) = server.requests
        assert "sk-secret" not in str(logged)
        assert logged.headers["authorization"] == "(hidden)"
    assert "sk-secret" not in file.read_text()


def test_requests_are_appended_to_a_file(tmp_path: Path) -> None:
    file = tmp_path / "requests.jsonl"
    for _ in range(2):
        with ScriptedModel(log=file) as server:
            ask(server, "chat", "hello")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["path"] for line in lines] == ["/v1/chat/completions"] * 2
    assert lines[0]["body"] == request_of("chat", "hello")
    assert lines[0]["at"] > 1_700_000_000


def test_a_log_that_cannot_be_written_fails_at_once(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ScriptedModel(log=tmp_path / "nowhere" / "requests.jsonl")


def test_keep_limits_the_requests_in_memory() -> None:
    with ScriptedModel(keep=2) as server:
        for prompt in "abc":
            ask(server, "chat", prompt)
        assert [logged.number for logged in server.requests] == [2, 3]


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_a_rejection_is_answered_and_recorded(server: ScriptedModel, wire: str) -> None:
    got = ask(server, wire, "hello", favourite_colour="blue")
    assert got.status == 400
    (rejection,) = server.rejections
    assert (rejection.number, rejection.wire) == (1, wire)
    assert got.json["error"]["message"] == rejection.message
    assert server.requests[0].outcome == "rejected"


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_further_fields_can_be_allowed(wire: str) -> None:
    with ScriptedModel(allow={wire: ["favouriteColour"]}) as server:
        assert ask(server, wire, "hello", favouriteColour="blue").status == 200
        assert server.rejections == []


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_rules_can_be_switched_off(wire: str) -> None:
    with ScriptedModel(validate=False) as server:
        assert ask(server, wire, "hello", favouriteColour="blue").status == 200


@pytest.mark.parametrize("wire", WIRE_NAMES)
@pytest.mark.parametrize("raw", [b"{", b"[1]", b"\xff"])
def test_a_body_that_is_not_a_json_object_is_rejected(
    server: ScriptedModel, wire: str, raw: bytes
) -> None:
    assert fetch(server, path_of(wire), raw).status == 400
    assert "not valid JSON" in server.rejections[0].message


def test_an_unknown_path_is_not_found(server: ScriptedModel) -> None:
    for path in ("/v1/embeddings", "/messages", "/v1beta/models/m:embedContent"):
        assert fetch(server, path, {}).status == 404
    assert fetch(server, "/v1/messages", method="GET").status == 404
    assert server.rejections == []


def test_a_health_check_is_answered(server: ScriptedModel) -> None:
    assert fetch(server, "/", method="HEAD").status == 200
    assert fetch(server, "/healthz", method="GET").json == {"ok": True}


def test_a_connection_is_used_again(server: ScriptedModel) -> None:
    connection = HTTPConnection("127.0.0.1", port_of(server), timeout=60)
    for kind in ({}, {"stream": True}, {}):
        body = json.dumps(request_of("chat", "hello", **kind))
        connection.request("POST", "/v1/chat/completions", body)
        response = connection.getresponse()
        assert response.status == 200
        assert response.read()
        assert not response.will_close
    connection.close()


def test_bodies_may_be_chunked_or_compressed(server: ScriptedModel) -> None:
    body = json.dumps(request_of("chat", "hello")).encode()
    connection = HTTPConnection("127.0.0.1", port_of(server), timeout=60)
    connection.request(
        "POST", "/v1/chat/completions", iter([body[:10], body[10:]]), encode_chunked=True
    )
    assert connection.getresponse().status == 200
    connection.close()
    packed = gzip.compress(body)
    got = fetch(server, "/v1/chat/completions", packed, {"content-encoding": "gzip"})
    assert got.status == 200


def test_expect_100_continue_is_answered(server: ScriptedModel) -> None:
    body = json.dumps(request_of("chat", "hello")).encode()
    with socket.create_connection(("127.0.0.1", port_of(server)), timeout=60) as client:
        head = f"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {len(body)}\r\n"
        client.sendall(f"{head}Expect: 100-continue\r\nConnection: close\r\n\r\n".encode())
        assert client.recv(100).startswith(b"HTTP/1.1 100")
        client.sendall(body)
        assert client.recv(100).startswith(b"HTTP/1.1 200")


def test_the_variables_point_every_library_at_the_server(server: ScriptedModel) -> None:
    env = server.env()
    assert env["ANTHROPIC_BASE_URL"] == server.anthropic_url == server.url
    assert env["OPENAI_BASE_URL"] == server.openai_url == f"{server.url}/v1"
    assert env["GOOGLE_GEMINI_BASE_URL"] == server.gemini_url == server.url
    assert all(env[f"{name}_API_KEY"] for name in ("ANTHROPIC", "OPENAI", "GEMINI"))
    with ScriptedModel(key="right") as strict:
        assert strict.env()["OPENAI_API_KEY"] == "right"


def test_codex_gets_a_configuration(server: ScriptedModel) -> None:
    config = tomllib.loads(server.codex_config("gpt-5"))
    provider = config["model_providers"][config["model_provider"]]
    assert (config["model"], provider["base_url"]) == ("gpt-5", server.openai_url)
    assert provider["env_key"] in server.env()


def test_a_test_can_wait_for_requests(server: ScriptedModel) -> None:
    threads = [threading.Thread(target=ask, args=(server, "chat", "hello")) for _ in range(3)]
    for thread in threads:
        thread.start()
    server.wait_for(3, answered=True)
    assert {logged.outcome for logged in server.requests} == {"answered"}
    with pytest.raises(TimeoutError, match=r"3 of 4 requests in 0.01 seconds"):
        server.wait_for(4, 0.01)
    for thread in threads:
        thread.join()


def test_clear_deletes_everything(server: ScriptedModel) -> None:
    prompt = "[[status: 500 x1]] [[say: ok]]"
    assert [ask(server, "chat", prompt).status for _ in range(2)] == [500, 200]
    ask(server, "chat", "hello", colour="blue")
    server.replies(["left over"])
    server.clear()
    assert (server.requests, server.rejections, server.peak) == ([], [], 0)
    assert ask(server, "chat", prompt).status == 500
    assert server.requests[0].number == 1


def test_a_client_that_disconnects_is_noticed(server: ScriptedModel) -> None:
    body = json.dumps(request_of("chat", f"[[say: {'x' * 2_000_000}]]", stream=True)).encode()
    with socket.create_connection(("127.0.0.1", port_of(server)), timeout=60) as client:
        head = f"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n"
        client.sendall(head.encode() + body)
        client.recv(100)
    server.wait_for(1, answered=True)
    assert server.requests[0].outcome == "abandoned"


def test_stop_closes_open_connections() -> None:
    server = ScriptedModel()
    server.start()
    got: list[bool] = []
    client = threading.Thread(
        target=lambda: got.append(stream(server, "chat", "[[stall: 60]] [[say: ab]]").broken)
    )
    client.start()
    server.wait_for(1)
    server.stop()
    client.join(10)
    assert got == [True]
    server.stop()


def test_it_cannot_be_started_twice(server: ScriptedModel) -> None:
    with pytest.raises(RuntimeError, match="running already"):
        server.start()


def test_a_port_that_is_taken_is_refused(server: ScriptedModel) -> None:
    with pytest.raises(OSError, match="in use"):
        ScriptedModel(port=port_of(server)).start()


async def test_it_serves_a_test_with_an_event_loop() -> None:
    with ScriptedModel() as server:
        texts = await asyncio.gather(
            *(asyncio.to_thread(ask, server, wire, f"[[say: {wire}]]") for wire in WIRE_NAMES)
        )
    assert [said(wire, got) for wire, got in zip(WIRE_NAMES, texts, strict=True)] == [*WIRE_NAMES]


def test_two_hundred_streams_run_at_once(server: ScriptedModel) -> None:
    everyone = threading.Barrier(200)

    def answer(request: ModelRequest) -> str:
        everyone.wait(60)
        return request.prompt

    server.script(answer)
    got: list[tuple[str, str]] = []

    def talk(number: int) -> None:
        wire = WIRE_NAMES[number % 4]
        prompt = f"{number} " * 100
        got.append((prompt, streamed(wire, stream(server, wire, prompt))))

    threads = [threading.Thread(target=talk, args=(number,)) for number in range(200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 200
    assert all(prompt == text for prompt, text in got)
    assert server.peak == 200
    assert server.rejections == []


def test_two_servers_never_make_the_same_id() -> None:
    def call_id(server: ScriptedModel) -> str:
        tools: list[Tree] = [{"name": "ls", "input_schema": {"type": "object"}}]
        return ask(server, "anthropic", "[[tool: ls]]", tools=tools).json["content"][0]["id"]

    with ScriptedModel() as one, ScriptedModel() as other:
        ids = [call_id(server) for server in (one, other, one, other)]
        assert len(set(ids)) == 4
