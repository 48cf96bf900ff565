"""The configuration chooses the engine, and an engine that is missing is named."""

import pytest

from sapwood.app import engines
from sapwood.app.engines import engine_for, require_durable_engine, waking_engine
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
    ("engine", "database", "kind"),
    [
        ("auto", "a.db", "DbosEngine"),
        ("auto", POSTGRES, "DbosEngine"),
        ("dbos", "a.db", "DbosEngine"),
        ("temporal", "a.db", "TemporalEngine"),
        ("temporal", POSTGRES, "TemporalEngine"),
        ("local", "a.db", "LocalEngine"),
        ("temporal", ":memory:", "LocalEngine"),
    ],
)
async def test_the_configured_engine_is_made(engine: str, database: str, kind: str) -> None:
    config = Config(database=database, engine=engine)  # pyright: ignore[reportArgumentType]
    assert type(engine_for(config)).__name__ == kind


@pytest.mark.usefixtures("without")
@pytest.mark.parametrize(
    ("engine", "database", "sentence"),
    [
        ("auto", POSTGRES, r"pip install 'sapwood\[engine\]'"),
        ("dbos", "a.db", r"pip install 'sapwood\[engine\]'"),
        ("temporal", "a.db", r"pip install 'sapwood\[temporal\]'"),
        ("local", POSTGRES, "config set engine auto"),
    ],
)
async def test_an_engine_that_cannot_be_made_is_named(
    engine: str, database: str, sentence: str
) -> None:
    config = Config(database=database, engine=engine)  # pyright: ignore[reportArgumentType]
    for make in (engine_for, require_durable_engine):
        with pytest.raises(EngineError, match=sentence):
            make(config)


async def test_an_engine_of_one_process_has_no_workers() -> None:
    config = Config(database="a.db", engine="local")
    assert waking_engine(config) is None
    with pytest.raises(EngineError, match="there are no workers"):
        require_durable_engine(config)


@pytest.mark.usefixtures("without")
async def test_without_a_durable_engine_nobody_is_woken() -> None:
    assert waking_engine(Config(database="a.db")) is None
