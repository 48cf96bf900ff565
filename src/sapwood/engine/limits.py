"""How many agents may be driven at once."""

from msgspec import Struct

__all__ = ["Limits"]


class Limits(Struct, frozen=True):
    """Upper bounds on drives under way: in one worker, and everywhere for one model or one user.

    All workers of a database must be given the same ones. None is no limit.

    >>> Limits(per_user=3)
    Limits(per_worker=500, per_model=None, per_user=3)
    """

    per_worker: int = 500
    per_model: int | None = None
    per_user: int | None = None
