"""The warm-up call is one that the libraries of providers accept."""

import pytest

from sapwood.models.model_routes import Wire
from sapwood.models.warmup import warm_up_reply


@pytest.mark.parametrize("wire", ["messages", "responses", "chat", "gemini"])
async def test_the_warm_up_call_succeeds(wire: Wire) -> None:
    assert await warm_up_reply(wire) == "yes"
