"""What an errand is about: a session, and what is known of it besides."""

from collections.abc import Mapping

from msgspec import Struct

from sapwood.core.counting import Count
from sapwood.core.session import Session

__all__ = ["Subject"]


class Subject(Struct, frozen=True):
    """A session. What is made of one that is not `kept` is shown and not stored.

    `total` is the size of an own agent's window, `beside` how much its model sees beside the
    conversation, by kind, and `focus` and `background` the topics that its log declares.
    """

    session: Session
    kept: bool = True
    total: Count | None = None
    beside: Mapping[str, Count] = {}
    focus: tuple[str, ...] = ()
    background: tuple[str, ...] = ()
