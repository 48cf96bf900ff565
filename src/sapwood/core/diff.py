"""What differs between two contexts: which turns each alone shows, and what else changed."""

from msgspec import Struct

from sapwood.core.live import Live
from sapwood.core.turn import Turn
from sapwood.core.view.build import front_texts

__all__ = ["ContextDiff", "diff"]


class ContextDiff(Struct, frozen=True):
    """Turns in one context only, how many are in both, and whether their front differs.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as wood:
    ...     agent = wood.start("demo")
    ...     agent.mark("START")
    ...     agent.record("What is 6 x 7?", "42")
    ...     found = agent.diff("START")
    ...     print(found.same, found.shared, len(found.only_right))
    "Marked 'START'."
    False 0 1
    """

    only_left: tuple[Turn, ...]
    only_right: tuple[Turn, ...]
    shared: int
    front_differs: bool
    mask_differs: bool

    @property
    def same(self) -> bool:
        """Whether both show the model the same history."""
        alone = self.only_left or self.only_right
        return not (alone or self.front_differs or self.mask_differs)


def diff(left: Live, right: Live) -> ContextDiff:
    """What differs between two live paths."""
    lefts = {(turn.agent, turn.first) for turn in left.all_turns}
    rights = {(turn.agent, turn.first) for turn in right.all_turns}
    return ContextDiff(
        only_left=tuple(t for t in left.all_turns if (t.agent, t.first) not in rights),
        only_right=tuple(t for t in right.all_turns if (t.agent, t.first) not in lefts),
        shared=len(lefts & rights),
        front_differs=front_texts(left) != front_texts(right),
        mask_differs=left.context.mask != right.context.mask,
    )
