"""What authors of agents need to test them, and what Sapwood tests itself with."""

from sapwood.testing.world import World

__all__ = ["World"]
