"""What the methods of the API that change something return: typed values with a sentence each."""

from msgspec import Struct

from sapwood.core.ids import EventRef

__all__ = ["Result", "Tagged"]


class Result(Struct, frozen=True, kw_only=True):
    """What a method has changed: `message` is the sentence for a person, also `str(result)`.

    `events` are the places of the new events; there are none if nothing had to be changed.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as wood:
    ...     done = wood.start(id="demo").pin("style", "Be brief.")
    ...     print(done, done.events)
    Pinned 'style'. (demo:2,)
    """

    message: str
    events: tuple[EventRef, ...] = ()

    def __str__(self) -> str:
        return self.message


class Tagged(Result, frozen=True, kw_only=True):
    """The owner, the labels and the metadata that an agent has now."""

    owner: str
    labels: tuple[str, ...]
    metadata: dict[str, str]
