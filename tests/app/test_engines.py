"""The configuration chooses the engine, and an engine that is missing is named."""

import pytest

from sapwood.app import engines
from sapwood.app.engines import engine_for, require_durable_engine
from sapwood.config.config_file import Config
from sapwood.engine import EngineError

POSTGRES = "postgresql://nobody@127.0.0.1:1/none"


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither engine is installed."""

    def nothing(name: str) -> None:
        return None

    monkeypatch.setattr(engines, "find_spec", nothing)


@pytest.mark.parametrize(
    ("engine", "database", "kind", "of_workers"),
    [
        ("auto", "a.db", "ProcessEngine", "DbosEngine"),
        ("auto", POSTGRES, "ProcessEngine", "DbosEngine"),
        ("dbos", "a.db", "DbosEngine", "DbosEngine"),
        ("temporal", "a.db", "TemporalEngine", "TemporalEngine"),
        ("temporal", POSTGRES, "TemporalEngine", "TemporalEngine"),
        ("local", "a.db", "ProcessEngine", "ProcessEngine"),
        ("local", POSTGRES, "ProcessEngine", "ProcessEngine"),
        ("temporal", ":memory:", "LocalEngine", "LocalEngine"),
    ],
)
async def test_the_configured_engine_is_made(
    engine: str, database: str, kind: str, of_workers: str
) -> None:
    config = Config(database=database, engine=engine)  # pyright: ignore[reportArgumentType]
    assert type(engine_for(config)).__name__ == kind
    assert type(engine_for(config, for_workers=True)).__name__ == of_workers


@pytest.mark.usefixtures("without")
@pytest.mark.parametrize(
    ("engine", "sentence"),
    [
        ("dbos", r"pip install 'sapwood\[engine\]'"),
        ("temporal", r"pip install 'sapwood\[temporal\]'"),
    ],
)
async def test_an_engine_that_cannot_be_made_is_named(engine: str, sentence: str) -> None:
    config = Config(database="a.db", engine=engine)  # pyright: ignore[reportArgumentType]
    for make in (engine_for, require_durable_engine):
        with pytest.raises(EngineError, match=sentence):
            make(config)


@pytest.mark.usefixtures("without")
async def test_without_dbos_a_process_drives_its_agents_and_there_are_no_workers() -> None:
    config = Config(database="a.db")
    assert type(engine_for(config, for_workers=True)).__name__ == "ProcessEngine"
    with pytest.raises(EngineError, match=r"pip install 'sapwood\[engine\]'"):
        require_durable_engine(config)


async def test_the_engine_of_a_process_has_no_workers() -> None:
    with pytest.raises(EngineError, match="it has no workers"):
        require_durable_engine(Config(database="a.db", engine="local"))
