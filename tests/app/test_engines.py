"""The configuration chooses the engine, and an engine that is missing is named."""

import pytest

from sapwood.app import engines
from sapwood.app.engines import engine_for, require_durable_engine
from sapwood.config.config_file import Config
from sapwood.doctor import Finding
from sapwood.doctor.checks import check_engine
from sapwood.engine import EngineError
from tests.plugin_distribution import InstallPlugin

POSTGRES = "postgresql://nobody@127.0.0.1:1/none"


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither engine is installed."""

    def nothing(name: str) -> None:
        return None

    def no_plugins(folders: tuple[str, ...]) -> dict[tuple[str, str], object]:
        return {}

    monkeypatch.setattr(engines, "find_spec", nothing)
    monkeypatch.setattr("sapwood.plugins._installed", no_plugins)


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
    config = Config(database=database, engine=engine)
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
    config = Config(database="a.db", engine=engine)
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


_ENGINE = """
class Engine:
    @classmethod
    def configured(cls, config, limits):
        return cls()

    @staticmethod
    async def check(config):
        return f"drives agents of {config.space}"
"""


async def test_a_plug_in_adds_an_engine(install_plugin: InstallPlugin) -> None:
    install_plugin("engines", "clockwork = clockwork:Engine", _ENGINE)
    config = Config(database="a.db", engine="clockwork")
    assert type(engine_for(config)).__name__ == "Engine"
    require_durable_engine(config)
    assert await check_engine(config, online=True) == [
        Finding("engine", "ok", "drives agents of local")
    ]


async def test_an_engine_that_does_not_exist_is_named() -> None:
    config = Config(database="a.db", engine="clockwork")
    with pytest.raises(EngineError, match="There is no engine 'clockwork'"):
        engine_for(config)
    (found,) = await check_engine(config, online=True)
    assert found.state == "broken"
