"""How often the durable engine looks, in seconds."""

from msgspec import Struct

from sapwood.engine.trying import RETRY_AFTER

__all__ = ["Pace"]


class Pace(Struct, frozen=True):
    """Shorter is livelier and costs an idle worker more. The same for all workers of a database.

    `poll`: for agents that another process woke. `beat`: a worker shows that it is alive.
    `dead_after`: one that did not is taken for dead. `tidy`: what broke is mended and what is
    finished is deleted, once it is older than `keep`. `grace`: how long a drive that was told to
    end is waited for. `retry_after`: before each new try of a drive that failed.
    """

    poll: float = 0.2
    beat: float = 0.5
    dead_after: float = 2.5
    tidy: float = 10.0
    keep: float = 60.0
    grace: float = 10.0
    retry_after: tuple[float, ...] = RETRY_AFTER
