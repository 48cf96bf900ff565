"""Owners, labels, erasure and retention over HTTP."""

from urllib.parse import quote

import pytest

from sapwood.core.ids import Space
from tests.server.serving import STORES, Served, record

pytestmark = pytest.mark.parametrize("store", STORES)


async def test_conversations_are_listed_changed_and_erased_by_owner(served: Served) -> None:
    async with served.client() as client, served.client("write") as writer:
        given = {"owner": "u7", "labels": ["vip", "trial"], "metadata": {"plan": "pro"}}
        first = (await client.post("/v1/agents", json={**given, "name": "one"})).json()["agent"]
        second = (await client.post("/v1/agents", json={"owner": "u8"})).json()["agent"]
        shown = (await client.get(f"/v1/agents/{first}")).json()
        change = {"owner": "u8", "add": ["new"], "remove": ["vip"], "metadata": {"plan": ""}}
        moved = (await client.post(f"/v1/agents/{first}/tags", json=change)).json()
        unread = await writer.post(f"/v1/agents/{first}/tags", json={"add": ["blind"]})
        of_owner = (await client.get("/v1/agents", params={"owner": "u8"})).json()["agents"]
        labelled = (await client.get("/v1/agents", params={"label": "new"})).json()["agents"]
        erased = (await client.delete("/v1/owners/u8")).json()
        gone = await client.get(f"/v1/agents/{first}")
    assert (shown["owner"], shown["labels"]) == ("u7", ["trial", "vip"])
    assert shown["metadata"] == {"plan": "pro"}
    assert (moved["owner"], moved["labels"], moved["metadata"]) == ("u8", ["new", "trial"], {})
    assert (unread.status_code, unread.content) == (204, b"")
    assert {each["agent"] for each in of_owner} == {first, second}
    assert [each["agent"] for each in labelled] == [first]
    assert (erased["agents"], erased["by"]) == (2, "human:ada")
    assert gone.status_code == 404


async def test_an_erased_conversation_is_gone_and_one_of_another_space_is_not(
    served: Served,
) -> None:
    hidden = await record(served.connection, ("Hello.", "Hi."), space="other")
    agent = await record(served.connection, ("The heron is blue.", "It is."))
    async with served.client() as client, served.client("write") as writer:
        refused = await writer.delete(f"/v1/agents/{agent}")
        foreign = await client.delete(f"/v1/agents/{hidden}")
        erased = await client.delete(f"/v1/agents/{agent}")
        found = (await client.get("/v1/search", params={"q": "heron"})).json()["hits"]
    assert (refused.status_code, foreign.status_code, erased.status_code) == (403, 404, 200)
    assert found == []
    assert await served.connection.log.summary(Space("other"), hidden) is not None


async def test_idle_conversations_are_listed_before_they_are_erased(served: Served) -> None:
    agent = await record(served.connection, ("Hello.", "Hi."))
    async with served.client() as client:
        kept = (await client.post("/v1/retention", json={"days": 1})).json()
        listed = (await client.post("/v1/retention", json={"days": 0})).json()
        erased = (await client.post("/v1/retention", json={"days": 0, "erase": True})).json()
        gone = await client.get(f"/v1/agents/{agent}")
        missing = await client.post("/v1/retention", json={})
    assert kept == {"conversations": [], "erased": 0}
    assert [each["root"]["agent"] for each in listed["conversations"]] == [agent]
    assert (listed["erased"], erased["erased"]) == (0, 1)
    assert (gone.status_code, missing.status_code) == (404, 422)


@pytest.mark.parametrize("owner", ["team/ada", "/", "a//b/", "50% of ?x=1#y", "ада"])
async def test_an_owner_may_have_any_text(served: Served, owner: str) -> None:
    async with served.client() as client:
        made = [await client.post("/v1/agents", json={"owner": each}) for each in (owner, "team")]
        erased = await client.delete(f"/v1/owners/{quote(owner, safe='')}")
        left = (await client.get("/v1/agents")).json()["agents"]
    assert erased.status_code == 200, erased.text
    assert erased.json()["agents"] == 1
    assert [each["agent"] for each in left] == [made[1].json()["agent"]]


async def test_no_owner_is_not_every_owner(served: Served) -> None:
    async with served.client() as client:
        await client.post("/v1/agents", json={"owner": "ada"})
        await client.post("/v1/agents", json={})
        refused = [await client.delete(path) for path in ("/v1/owners/", "/v1/owners")]
        left = (await client.get("/v1/agents")).json()["agents"]
    assert [each.status_code for each in refused] == [404, 404]
    assert len(left) == 2
