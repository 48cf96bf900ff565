"""The configuration chooses the engine, and an engine that is missing is named."""

import pytest

from sapwood.app.engines import engine_for, require_durable_engine
from sapwood.config.config_file import Config
from sapwood.doctor import Finding
from sapwood.doctor.checks import check_engine
from sapwood.engine import EngineError
from tests.plugin_distribution import InstallPlugin

POSTGRES = "postgresql://nobody@127.0.0.1:1/none"


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    """No plug-in is installed."""

    def no_plugins(folders: tuple[str, ...]) -> dict[tuple[str, str], object]:
        return {}

    monkeypatch.setattr("sapwood.plugins._installed", no_plugins)


@pytest.mark.parametrize(
    ("engine", "database", "kind"),
    [
        ("auto", "a.db", "ProcessEngine"),
        ("auto", POSTGRES, "ProcessEngine"),
        ("dbos", "a.db", "ProcessEngine"),
        ("temporal", "a.db", "TemporalEngine"),
        ("temporal", POSTGRES, "TemporalEngine"),
        ("local", "a.db", "ProcessEngine"),
        ("local", POSTGRES, "ProcessEngine"),
        ("temporal", ":memory:", "LocalEngine"),
    ],
)
async def test_the_configured_engine_is_made(engine: str, database: str, kind: str) -> None:
    config = Config(database=database, engine=engine)
    assert type(engine_for(config)).__name__ == kind
    assert type(engine_for(config, for_workers=True)).__name__ == kind


@pytest.mark.usefixtures("without")
async def test_an_engine_that_cannot_be_made_is_named() -> None:
    config = Config(database="a.db", engine="temporal")
    for make in (engine_for, require_durable_engine):
        with pytest.raises(EngineError, match=r"pip install 'sapwood\[temporal\]'"):
            make(config)


async def test_a_configuration_with_dbos_works_and_says_what_to_type(
    caplog: pytest.LogCaptureFixture,
) -> None:
    config = Config(database="a.db", engine="dbos")
    require_durable_engine(config)
    assert "Type: sapwood config set engine auto" in caplog.text
    (found,) = await check_engine(config, online=False)
    assert (found.state, found.next_step) == ("open", "sapwood config set engine auto")


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
