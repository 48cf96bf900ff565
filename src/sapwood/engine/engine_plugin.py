"""Engines that plug-ins add, by entry points of the group `sapwood.engines`."""

from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

from sapwood.config.config_file import Config
from sapwood.core.errors import PluginError
from sapwood.engine.drives import EngineError, GiveUp
from sapwood.engine.limits import DriveLimits
from sapwood.plugins import load_plugin

if TYPE_CHECKING:
    from sapwood.turns.scheduler import Engine

OWN_ENGINES = frozenset({"auto", "dbos", "local"})
"""The values of the setting `engine` that need no plug-in. "dbos" is an old name of "auto"."""

DBOS_IS_AUTO = "The engine 'dbos' was removed; Sapwood uses 'auto' instead."


class EnginePlugin(Protocol):
    """What the entry point of an engine names: the class of the engine, with these two methods."""

    def configured(self, config: Config, limits: DriveLimits) -> "Engine":
        """Returns the engine for a configuration. It connects to nothing yet."""
        ...

    async def check(self, config: Config) -> str:
        """Returns in a few words what the engine uses. Raises `EngineError` if it cannot work."""
        ...


@runtime_checkable
class CountsDeaths(Protocol):
    """An engine that knows in which drives processes died.

    `give_up` is awaited instead of the next drive after `DriveLimits.deaths` of them.
    """

    give_up: GiveUp | None


def load_engine(name: str) -> EnginePlugin:
    """Returns the engine of a plug-in. Raises `EngineError` if there is none with this name."""
    try:
        found = load_plugin("engines", name)
    except PluginError as error:
        raise EngineError(str(error)) from error
    if found is None:
        raise EngineError(f"There is no engine '{name}'. Type: sapwood config set engine auto")
    return cast("EnginePlugin", found)
