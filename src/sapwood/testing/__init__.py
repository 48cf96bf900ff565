"""Tools for tests of agents: a model in memory that follows a plan, and the core without a store.

For tests over HTTP, in the wire formats of the providers, use the package `scripted-model`.
"""

from sapwood.testing.core_harness import CoreHarness
from sapwood.testing.fake_model import FakeModel, NoTools, slash

__all__ = ["CoreHarness", "FakeModel", "NoTools", "slash"]
