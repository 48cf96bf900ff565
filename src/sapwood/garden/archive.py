"""An archive: what was kept of a topic before it left view."""

from msgspec import Struct

__all__ = ["Archive"]


class Archive(Struct, frozen=True):
    """What a file under `archives/` holds. `archived` is a time in ISO form."""

    topic: str
    archived: str = ""
    session: str = ""
    project: str = ""
    decisions: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    excerpt: str = ""
