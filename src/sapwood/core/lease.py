"""A lease: which process runs an open turn, and until when nobody else may."""

from msgspec import Struct

MAX_LEASE = 3_600_000_000
"""Microseconds: a process that has died holds a turn no longer than this."""


class Lease(Struct, frozen=True, array_like=True, gc=False):
    """The process that runs the turn, by a random name, and the moment at which the lease ends.

    `until` is in microseconds since 1970. The holder renews the lease while it works. After its end
    another process may take the turn up.
    """

    holder: str
    until: int

    def refuses(self, holder: str, at: int) -> bool:
        """Whether a command of `holder` may not change the turn at this moment.

        A process that once had the lease may never, after another one took it. One that never had
        a lease may when this one has ended.

        >>> lease = Lease("ada", until=100)
        >>> [lease.refuses(*who) for who in (("ada", 500), ("bob", 500), ("", 50), ("", 500))]
        [False, True, True, False]
        """
        if holder == self.holder:
            return False
        return bool(holder) or at < self.until
