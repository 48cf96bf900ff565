"""Checks the engine that decides which process drives an agent."""

from importlib.util import find_spec

from sapwood.config.config_file import Config
from sapwood.core.plural import counted
from sapwood.doctor import Finding
from sapwood.engine import EngineError


async def check_engine(config: Config, *, online: bool) -> list[Finding]:
    """Whether the configured engine is installed and, on Temporal, whether its server answers.

    "auto" needs no check: it takes what is installed.
    """
    if config.engine == "dbos" and find_spec("dbos") is None:
        missing = "dbos is configured but not installed"
        return [Finding("engine", "broken", missing, "pip install 'sapwood[engine]'")]
    if config.engine != "temporal":
        return []
    if find_spec("temporalio") is None:
        missing = "temporal is configured but not installed"
        return [Finding("engine", "broken", missing, "pip install 'sapwood[temporal]'")]
    return [await _temporal(config)] if online else []


async def _temporal(config: Config) -> Finding:
    from sapwood.engine.temporal.temporal_client import TemporalServer

    try:
        server = TemporalServer(config.temporal)
        client = await server.connect()
        await server.require_namespace(client)
        workers = await server.workers(client)
    except EngineError as problem:
        return Finding("engine", "broken", str(problem))
    place = f"Temporal at {server.address}, namespace {server.namespace}"
    running = counted(workers, "worker")
    return Finding("engine", "ok", f"{place}, task queue {server.task_queue} with {running}")
