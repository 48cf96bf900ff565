"""A scripted server, and models that ask it."""

from collections.abc import AsyncGenerator, Generator

import pytest

from sapwood.models import Models
from scripted_model import ScriptedModel
from tests.models.conversation import open_models


@pytest.fixture
def server() -> Generator[ScriptedModel]:
    with ScriptedModel() as server:
        yield server


@pytest.fixture
async def models(server: ScriptedModel) -> AsyncGenerator[Models]:
    async with open_models(server.url) as models:
        yield models
