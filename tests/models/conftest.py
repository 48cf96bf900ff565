"""Model access needs its extra. Without it the tests of this folder are skipped with a reason."""

from collections.abc import AsyncGenerator, Generator
from importlib.util import find_spec
from pathlib import Path

import pytest

from sapwood.models import Models
from scripted_model import ScriptedModel
from tests.models.conversation import open_models

REASON = "model access is not installed: pip install 'sapwood[models]'"


class Skipped(pytest.Module):
    """A file of tests that cannot even be imported."""

    def collect(self) -> list[pytest.Item]:
        pytest.skip(REASON, allow_module_level=True)


def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Module | None:
    if find_spec("httpx2") is None:
        made: pytest.Module = Skipped.from_parent(parent, path=module_path)  # pyright: ignore[reportUnknownMemberType]  # pytest leaves it untyped
        return made
    return None


@pytest.fixture
def server() -> Generator[ScriptedModel]:
    with ScriptedModel() as server:
        yield server


@pytest.fixture
async def models(server: ScriptedModel) -> AsyncGenerator[Models]:
    async with open_models(server.url) as models:
        yield models
