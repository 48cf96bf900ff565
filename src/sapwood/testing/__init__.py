"""What authors of agents need to test them, and what Sapwood tests itself with."""

from sapwood.testing.model import NoTools, PlannedModel, slash
from sapwood.testing.world import World

__all__ = ["NoTools", "PlannedModel", "World", "slash"]
