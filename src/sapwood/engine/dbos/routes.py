"""Which queue a drive waits in, so that DBOS keeps the limits.

A queue counts by one key. With a limit per model and one per user, a drive passes two: it waits
for its user, then, holding that place, for its model.
"""

from msgspec import Struct

from sapwood.engine.limits import Limits

__all__ = ["ADMIT", "ALARM", "DRIVE", "DRIVES", "Queue", "Route", "queues", "route", "second_route"]

DRIVE, ADMIT, ALARM = "sapwood.drive", "sapwood.admit", "sapwood.alarm"
"""The workflows: drive an agent, wait for its model, wake an agent later."""

DRIVES, BY_MODEL, BY_USER = "sapwood.drives", "sapwood.models", "sapwood.users"
"""The queues. A queue with a key never loses it: entries without one would wait there for ever."""


class Route(Struct, frozen=True):
    """The workflow to run, the queue it waits in, and the key that the queue counts by."""

    workflow: str
    queue: str
    key: str | None = None


class Queue(Struct, frozen=True):
    """A queue, how many of it one worker runs at once, and how many of one key all workers do."""

    name: str
    per_worker: int | None
    per_key: int | None = None


def route(limits: Limits, model: str, user: str) -> Route:
    """The way of a drive, or its first part."""
    if limits.per_user is None:
        return _by_model(model) if limits.per_model else Route(DRIVE, DRIVES)
    return Route(ADMIT if limits.per_model else DRIVE, BY_USER, user or "-")


def second_route(model: str) -> Route:
    """What comes after the queue of the users."""
    return _by_model(model)


def queues(limits: Limits) -> list[Queue]:
    """All queues that a worker looks into."""
    # A worker's limit must not be larger than a key's, or DBOS refuses it; smaller is harmless.
    found = [Queue(DRIVES, limits.per_worker)]
    if limits.per_user:
        waits_only = limits.per_model is not None
        found.append(Queue(BY_USER, None if waits_only else limits.per_worker, limits.per_user))
    if limits.per_model:
        found.append(Queue(BY_MODEL, limits.per_worker, limits.per_model))
    return found


def _by_model(model: str) -> Route:
    return Route(DRIVE, BY_MODEL, model or "-")
