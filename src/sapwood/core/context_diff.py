"""The difference between two contexts: the turns in one of them only, and what else differs."""

from collections.abc import Sequence

from msgspec import Struct

from sapwood.core.events import ContextSummarized
from sapwood.core.live_path import LivePath
from sapwood.core.plural import counted
from sapwood.core.turn import Turn
from sapwood.core.turn_numbers import in_words
from sapwood.core.view.build import front_texts


class ContextDiff(Struct, frozen=True):
    """The difference between two contexts, `left` and `right`.

    `shared` is how many turns are in both. `front_differs`: the summary or the carried request is
    not the same.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as db:
    ...     agent = db.start("demo")
    ...     _ = agent.mark("START")
    ...     _ = agent.record("What is 6 x 7?", "42")
    ...     found = agent.diff("START")
    ...     print(found.same, found.shared, len(found.only_right))
    False 0 1
    """

    only_left: tuple[Turn, ...]
    only_right: tuple[Turn, ...]
    shared: int
    front_differs: bool
    mask_differs: bool

    @property
    def same(self) -> bool:
        """Whether the model sees the same history in both."""
        alone = self.only_left or self.only_right
        return not (alone or self.front_differs or self.mask_differs)


def view_change(before: LivePath, after: LivePath) -> str:
    """What came into view and what left it, as a sentence; empty if the model sees the same."""
    found = diff(before, after)
    more = len(after.loaded) - len(before.loaded)
    came = _listed(len(found.only_right), after.summary if not before.summary else None, more)
    left = _listed(len(found.only_left), before.summary if not after.summary else None, -more)
    said = [f"{came} back in view" if came else "", f"{left} removed from view" if left else ""]
    if not came and not left:
        said = ["the summary or the carried request changed" if found.front_differs else ""]
    sentence = ", ".join(part for part in said if part)
    return f"{sentence[:1].upper()}{sentence[1:]}." if sentence else ""


def cut_change(before: LivePath, after: LivePath) -> str:
    """Which drops came back and which ended, as sentences; empty if none did.

    A context of before has the cuts of before: what was dropped since is in view again, and a drop
    that was undone since is back.
    """
    if before.context.cuts == after.context.cuts or before.context.head != after.context.head:
        return ""
    found = diff(before, after)
    shared = [turn for turn in after.turns if turn not in found.only_right]
    again = [turn.number for turn in found.only_left if _is_cut(turn, after)]
    ended = [turn.number for turn in found.only_right if _is_cut(turn, before)]
    said = [_drops("Dropped again", again, _results_cut(shared, after, before))]
    said.append(_drops("No longer dropped", ended, _results_cut(shared, before, after)))
    return " ".join(each for each in said if each)


def _is_cut(turn: Turn, live: LivePath) -> bool:
    return any(
        last.agent == turn.agent
        and turn.first <= last.first
        and (before is None or before.agent != turn.agent or before.first < turn.first)
        for last, before in live.cuts.turns.items()
    )


def _results_cut(turns: Sequence[Turn], here: LivePath, not_there: LivePath) -> list[str]:
    return [
        f"{turn.number}.{number}"
        for turn in turns
        for number in here.cuts.results_of(turn)
        if number not in not_there.cuts.results_of(turn)
    ]


def _drops(said: str, turns: Sequence[int], results: Sequence[str]) -> str:
    named = [f"{'turns' if len(turns) > 1 else 'turn'} {in_words(turns)}"] if turns else []
    named += [f"tool {'results' if len(results) > 1 else 'result'} {', '.join(results)}"] * bool(
        results
    )
    return f"{said}: {' and '.join(named)}." if named else ""


def _listed(turns: int, summary: ContextSummarized | None, loaded: int) -> str:
    parts = [counted(turns, "turn")] if turns else []
    parts += ["the summary"] if summary else []
    parts += [counted(loaded, "loaded turn")] if loaded > 0 else []
    return " and ".join(parts)


def diff(left: LivePath, right: LivePath) -> ContextDiff:
    """What differs between two live paths."""
    lefts = {(turn.agent, turn.first) for turn in left.all_turns}
    rights = {(turn.agent, turn.first) for turn in right.all_turns}
    return ContextDiff(
        only_left=tuple(t for t in left.all_turns if (t.agent, t.first) not in rights),
        only_right=tuple(t for t in right.all_turns if (t.agent, t.first) not in lefts),
        shared=len(lefts & rights),
        front_differs=front_texts(left) != front_texts(right),
        mask_differs=left.context.mask != right.context.mask
        or left.cuts.results != right.cuts.results,
    )
