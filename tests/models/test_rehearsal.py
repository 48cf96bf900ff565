"""The call to nobody is one that providers' libraries take."""

import pytest

from sapwood.models.names import Wire
from sapwood.models.rehearsal import rehearsed


@pytest.mark.parametrize("wire", ["messages", "responses", "chat", "gemini"])
async def test_a_rehearsal_goes_through(wire: Wire) -> None:
    assert await rehearsed(wire) == "yes"
