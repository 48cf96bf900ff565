"""Checks the engine that decides which process drives an agent."""

from importlib.util import find_spec

from sapwood.config.config_file import Config
from sapwood.doctor import Finding
from sapwood.engine import EngineError
from sapwood.engine.engine_plugin import OWN_ENGINES, load_engine


async def check_engine(config: Config, *, online: bool) -> list[Finding]:
    """Whether the configured engine is installed and, of a plug-in, whether it can work.

    "auto" needs no check: it takes what is installed.
    """
    if config.engine == "dbos" and find_spec("dbos") is None:
        missing = "dbos is configured but not installed"
        return [Finding("engine", "broken", missing, "pip install 'sapwood[engine]'")]
    if config.engine in OWN_ENGINES:
        return []
    try:
        engine = load_engine(config.engine)
        return [Finding("engine", "ok", await engine.check(config))] if online else []
    except EngineError as problem:
        return [Finding("engine", "broken", str(problem))]
