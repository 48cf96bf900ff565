"""No route of the router shows or changes anything of another space, whatever is asked for."""

import asyncio

import httpx2
import pytest

from proofs.attack_web.routes import ROUTES, Attempt, attempts, guarded_routes
from sapwood.core.ids import Space
from tests.server.serving import STORES, Served, record

pytestmark = [pytest.mark.parametrize("store", STORES), pytest.mark.timeout(300)]
SECRET = "only-the-other-space-says-this"
STREAM_SECONDS, SECONDS = 1.0, 60.0


async def test_every_route_of_the_router_is_guarded_and_attacked(served: Served) -> None:
    found = [(each.method, each.path) for each in guarded_routes(served.app)]
    assert found == [(each.method, each.path) for each in ROUTES]


async def require_nothing(client: httpx2.AsyncClient, each: Attempt, *, is_stream: bool) -> None:
    """Sends a request, whose answer has nothing of the other space."""
    headers = {"Content-Type": "application/json"}
    sent = client.request(each.method, each.path, content=each.body, headers=headers)
    try:
        async with asyncio.timeout(STREAM_SECONDS if is_stream else SECONDS):
            answer = await sent
    except TimeoutError:
        assert is_stream, each
        assert not each.names_agent, each
        return
    assert SECRET not in answer.text, each
    assert answer.status_code < 500, (each, answer.text)
    assert answer.status_code != 429, each
    assert answer.status_code >= 400 or not each.names_agent, (each, answer.text)


async def test_nothing_of_another_space_is_shown_or_changed_by_any_route(served: Served) -> None:
    words = f"The heron is blue: {SECRET}"
    hidden = await record(served.connection, (words, words), space="other")
    before = await served.connection.log.summary(Space("other"), hidden)
    tried = 0
    for endpoint in guarded_routes(served.app):
        is_stream = endpoint.answers == "text/event-stream"
        # A token for each route, so that no limit of requests hides an answer.
        async with served.client() as client:
            found = list(attempts(endpoint, hidden, "other", "heron"))
            tried += len(found)
            checks = [require_nothing(client, each, is_stream=is_stream) for each in found]
            if is_stream:  # they wait for events of their own space
                await asyncio.gather(*checks)
            else:
                for check in checks:
                    await check
    assert tried > 100
    assert await served.connection.log.summary(Space("other"), hidden) == before
    found = await served.spaces.get("other").agents.service.search("heron")
    assert found.hits, "the words can be found in their own space"
