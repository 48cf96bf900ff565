"""Tools for tests of agents: a model in memory that follows a plan, and the core without a store.

For tests over HTTP, in the wire formats of the providers, use the package `scripted-model`.
"""

from sapwood.testing.planned_model import NoTools, PlannedModel, slash
from sapwood.testing.world import World

__all__ = ["NoTools", "PlannedModel", "World", "slash"]
