"""What authors of agents need to test them, and what Sapwood tests itself with.

The model server is imported when it is first used: most tests need none.
"""

from typing import TYPE_CHECKING

from sapwood.testing.model import NoTools, PlannedModel, slash
from sapwood.testing.world import World

if TYPE_CHECKING:
    from sapwood.testing.scripted import ScriptedModel

__all__ = ["NoTools", "PlannedModel", "ScriptedModel", "World", "slash"]

if not TYPE_CHECKING:  # so that a type checker still reports a name that does not exist

    def __getattr__(name: str) -> object:
        if name == "ScriptedModel":
            from sapwood.testing.scripted import ScriptedModel

            return ScriptedModel
        raise AttributeError(f"module 'sapwood.testing' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
