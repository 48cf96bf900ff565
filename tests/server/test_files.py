"""Uploads: what is stored, what a prompt gets of it, and how a browser is kept from running it."""

import httpx2
import pytest

from sapwood.core.events import FileAdded, TurnStarted
from sapwood.core.file_part import LARGEST_FILE
from sapwood.core.ids import AgentId
from tests.server.serving import Served, record

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x02\x00\x00\x00\x01"
RAW = {"Content-Type": "application/octet-stream"}


@pytest.fixture
async def agent(served: Served) -> AgentId:
    return await record(served.connection, ("Hello.", "Hi."))


async def upload(
    client: httpx2.AsyncClient, agent: AgentId, content: bytes, name: str = "shot.png"
) -> httpx2.Response:
    return await client.post(
        f"/v1/agents/{agent}/files", params={"name": name}, content=content, headers=RAW
    )


async def test_an_upload_is_stored_once_and_comes_back(served: Served, agent: AgentId) -> None:
    async with served.client() as client:
        first = await upload(client, agent, PNG)
        again = await upload(client, agent, PNG)
        file = first.json()["file"]
        back = await client.get(f"/v1/agents/{agent}/files/{file['id']}")
    assert first.status_code == 201
    assert again.json() == first.json()
    assert (file["media_type"], file["width"], file["height"]) == ("image/png", 2, 1)
    assert back.content == PNG
    events = await served.connection.log.read(served.connection.space, agent)
    assert sum(isinstance(each.event, FileAdded) for each in events) == 1


async def test_a_prompt_names_its_files(
    served: Served, agent: AgentId, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = served.spaces.get("local").agents.service
    models = service.services.models
    assert models is not None

    def callable_(model: str) -> None:
        assert model

    monkeypatch.setattr(models, "require", callable_)
    async with served.client() as client:
        path = f"/v1/agents/{agent}"
        file = (await upload(client, agent, PNG)).json()["file"]["id"]
        sent = await client.post(f"{path}/turns", json={"text": "What is it?", "files": [file]})
        await client.post(f"{path}/interrupt", json={})
        typed = await client.post(
            f"{path}/submissions", json={"text": "/mark A\nAnd now?", "files": [file]}
        )
        waiting = [
            await client.post(
                f"{path}/submissions", json={"text": text, "files": [file], "waits": True}
            )
            for text in ("/etc/hosts is wrong", "/mark B")
        ]
    assert sent.status_code == 202, sent.text
    assert typed.is_success, typed.text
    assert [each.json()["prompt"] for each in waiting] == ["held", "none"]
    log = await served.connection.log.read(served.connection.space, agent)
    prompts = [each.event.prompt for each in log if isinstance(each.event, TurnStarted)]
    assert [[part.text for part in prompt] for prompt in prompts] == [
        ["[image: shot.png, image/png, 24 bytes, 2 x 1]", "What is it?"],
        ["[image: shot.png, image/png, 24 bytes, 2 x 1]", "And now?"],
    ]
    async with served.client("read") as client:
        [version] = [
            each.version
            for each in log
            if isinstance(each.event, TurnStarted) and each.event.prompt[1].text == "And now?"
        ]
        shown = await client.get(f"/v1/agents/{agent}/log/{version}/files/0")
        missing = await client.get(f"/v1/agents/{agent}/log/{version}/files/1")
    assert shown.content == PNG
    assert missing.status_code == 404


async def test_an_unknown_file_and_a_command_with_a_file_are_refused(
    served: Served, agent: AgentId
) -> None:
    async with served.client() as client:
        path = f"/v1/agents/{agent}"
        file = (await upload(client, agent, PNG)).json()["file"]["id"]
        answers = [
            await client.post(f"{path}/turns", json={"text": "Hi.", "files": ["beef"]}),
            await client.post(f"{path}/turns", json={"text": "Hi.", "files": "beef"}),
            await client.post(f"{path}/turns", json={"text": "Hi.", "files": [file] * 21}),
            await client.post(f"{path}/submissions", json={"text": "/undo", "files": [file]}),
            await client.get(f"{path}/files/../../x"),
        ]
    assert [each.status_code for each in answers] == [404, 422, 422, 422, 404]
    assert "Upload it first" in answers[0].json()["detail"]


async def test_a_file_of_another_agent_is_not_found(served: Served, agent: AgentId) -> None:
    other = await record(served.connection, ("Hello.", "Hi."))
    async with served.client() as client:
        file = (await upload(client, other, PNG)).json()["file"]["id"]
        answer = await client.get(f"/v1/agents/{agent}/files/{file}")
    assert answer.status_code == 404


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"<script>alert(1)</script>", "page.html"),
        (b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "x.svg"),
        (b"%PDF-1.4", 'a"b\r\nSet-Cookie: x.pdf'),
    ],
)
async def test_a_browser_runs_nothing_of_a_file(
    served: Served, agent: AgentId, content: bytes, name: str
) -> None:
    async with served.client() as client:
        file = (await upload(client, agent, content, name)).json()["file"]["id"]
        answer = await client.get(f"/v1/agents/{agent}/files/{file}")
    assert answer.content == content
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment; filename*=UTF-8''")
    assert "set-cookie" not in answer.headers
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_uploads_are_bounded(served: Served, agent: AgentId) -> None:
    path = f"/v1/agents/{agent}/files"
    async with served.client() as client:
        large = await client.post(path, content=b"x" * (LARGEST_FILE + 1), headers=RAW)
        lies = await client.post(
            path, content=b"x", headers={**RAW, "Content-Length": str(LARGEST_FILE + 1)}
        )
        empty = await client.post(path, content=b"", headers=RAW)
        form = await client.post(path, content=b"x", headers={"Content-Type": "text/plain"})
    assert [each.status_code for each in (large, lies, empty, form)] == [413, 413, 422, 415]


async def test_a_prompt_with_a_file_that_was_held_is_sent_with_its_id_when_the_turn_ends(
    served: Served, agent: AgentId, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = served.spaces.get("local").agents.service.services.models
    assert models is not None

    def callable_(model: str) -> None:
        assert model

    monkeypatch.setattr(models, "require", callable_)
    async with served.client() as client:
        path = f"/v1/agents/{agent}"
        file = (await upload(client, agent, PNG)).json()["file"]["id"]
        body = {"text": "What is it?", "files": [file], "waits": True, "id": "one"}
        await client.post(f"{path}/turns", json={"text": "Hello?"})
        held = await client.post(f"{path}/submissions", json=body)
        await client.post(f"{path}/interrupt", json={})
        sent = await client.post(f"{path}/submissions", json=body)
        again = await client.post(f"{path}/submissions", json=body)
    assert [each.json()["prompt"] for each in (held, sent, again)] == ["held", "sent", "sent"]
    assert again.headers["idempotency-replayed"] == "true"
    log = await served.connection.log.read(served.connection.space, agent)
    prompts = [each.event.prompt for each in log if isinstance(each.event, TurnStarted)]
    assert [prompt[-1].text for prompt in prompts] == ["Hello?", "What is it?"]
