"""Cuts: turns and tool results between `head` and `tip` that somebody dropped from view.

A context names the event of its newest cut. That event has a layer: what it changed, and the event
with the layer below it. A new layer takes in the layers below that are not much larger, so
thousands of cuts are read from a few events, and each cut is written again a few times.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from sapwood.core.context import CutLayer, ResultCut, TurnCut
from sapwood.core.ids import EventRef, TurnRef
from sapwood.core.turn import Result, Turn

_GROWTH = 4
"""By how much a layer is larger than the one above it, at least."""


class Cuts(Struct, frozen=True):
    """All cuts of a context: for the last turn of each cut the turn before it, and the results of
    turns. `layers` are the events that they were read from, the newest first.
    """

    turns: Mapping[TurnRef, TurnRef | None] = {}
    results: Mapping[TurnRef, tuple[int, ...]] = {}
    layers: tuple[tuple[EventRef, CutLayer], ...] = ()

    def results_of(self, turn: Turn) -> tuple[int, ...]:
        """The numbers of the dropped results of a turn."""
        if not self.results or turn.status == "open":
            return ()
        return self.results.get(turn.ref, ())

    def after(self, event: EventRef, layer: CutLayer) -> "Cuts":
        """The cuts after an event with a layer whose lower layers are among these."""
        places = [each for each, _ in self.layers]
        kept = self.layers[places.index(layer.below) :] if layer.below in places else ()
        turns, results = dict(self.turns), dict(self.results)
        if layer.below is None:
            turns, results = {}, {}
        _apply(layer, turns, results)
        if not turns and not results:
            return NO_CUTS
        return Cuts(turns, results, ((event, layer), *kept))

    def changed(
        self,
        turns: Iterable[TurnCut],
        results: Iterable[ResultCut],
        head: TurnRef | None = None,
    ) -> CutLayer:
        """The layer with these changes and with those of the smaller layers below it.

        Layers with nothing after `head` are left out: no path from there on has their turns.
        """
        cut = {each.last: each for each in turns}
        dropped = {each.turn: each for each in results}
        layers = list(self.layers)
        while layers and _is_before(layers[-1][1], head):
            layers.pop()
        if layers and layers[-1][1].below is not None:  # it refers to what is left out
            for _, layer in layers:
                cut = {each.last: each for each in layer.turns} | cut
                dropped = {each.turn: each for each in layer.results} | dropped
            layers = []
        while layers and layers[0][1].size <= _GROWTH * (len(cut) + len(dropped)):
            _, layer = layers.pop(0)
            cut = {each.last: each for each in layer.turns} | cut
            dropped = {each.turn: each for each in layer.results} | dropped
        if layers and not self._is_empty_after(cut, dropped):
            return CutLayer(layers[0][0], tuple(cut.values()), tuple(dropped.values()))
        return CutLayer(
            None,
            tuple([each for each in cut.values() if not each.back]),
            tuple([each for each in dropped.values() if each.results]),
        )

    def _is_empty_after(
        self, cut: Mapping[TurnRef, TurnCut], dropped: Mapping[TurnRef, ResultCut]
    ) -> bool:
        """Whether nothing is cut any more after these changes."""
        back = all(last in cut and cut[last].back for last in self.turns)
        return (
            back
            and all(turn in dropped and not dropped[turn].results for turn in self.results)
            and all(each.back for each in cut.values())
            and not any(each.results for each in dropped.values())
        )


NO_CUTS = Cuts()


def _is_before(layer: CutLayer, head: TurnRef | None) -> bool:
    """Whether all that a layer cuts is in the log of `head`, and not after it."""
    if head is None:
        return False
    return all(
        each.agent == head.agent and each.last <= head.last
        for each in (*[cut.last for cut in layer.turns], *[each.turn for each in layer.results])
    )


def read_cuts(layers: Sequence[tuple[EventRef, CutLayer]]) -> Cuts:
    """The cuts of layers, the newest first."""
    turns: dict[TurnRef, TurnRef | None] = {}
    results: dict[TurnRef, tuple[int, ...]] = {}
    for _, layer in reversed(layers):
        _apply(layer, turns, results)
    return Cuts(turns, results, tuple(layers)) if turns or results else NO_CUTS


def _apply(
    layer: CutLayer,
    turns: dict[TurnRef, TurnRef | None],
    results: dict[TurnRef, tuple[int, ...]],
) -> None:
    for cut in layer.turns:
        if cut.back:
            turns.pop(cut.last, None)
        else:
            turns[cut.last] = cut.before
    for dropped in layer.results:
        if dropped.results:
            results[dropped.turn] = dropped.results
        else:
            results.pop(dropped.turn, None)


class CutWalk:
    """Follows a path from its tip backwards and tells which turns are cut."""

    def __init__(self, cuts: Cuts) -> None:
        self._cuts = cuts.turns
        self._inside: TurnRef | None = None
        self._until: TurnRef | None = None

    def skips_to(self, head: TurnRef | None) -> TurnRef | None:
        """The turn before the present cut, if the turns between need not be read; else None.

        They are in one log, and `head` is not one of them.
        """
        last, before = self._inside, self._until
        if last is None or before is None or last.agent != before.agent:
            return None
        inside = head is not None and head.agent == last.agent and head.last > before.last
        return None if inside else before

    def is_cut(self, turn: TurnRef) -> bool:
        """Whether the next older turn of the path is cut."""
        return self.enters(turn) is not None

    def enters(self, turn: TurnRef) -> TurnRef | None:
        """The last turn of the cut that the next older turn of the path is in; None if in none."""
        if self._inside is not None and turn == self._until:
            self._inside = None
        if self._inside is None and turn in self._cuts:
            self._inside, self._until = turn, self._cuts[turn]
        return self._inside


def still_in_view(
    turns: Sequence[Turn], tip: TurnRef | None, before: Cuts, after: Cuts
) -> tuple[Turn, ...]:
    """The turns of a path that further cuts leave in view."""
    walk, place = CutWalk(after), tip
    kept: list[Turn] = []
    for turn in reversed(turns):
        while place is not None and place != turn.ref:  # an earlier cut is between the two
            walk.is_cut(place)
            place = before.turns.get(place)
        if not walk.is_cut(turn.ref):
            kept.append(turn)
        place = turn.parent
    return tuple(reversed(kept))


def cuts_of(
    turns: Sequence[Turn], tip: TurnRef | None, cuts: Cuts, leaving: Sequence[Turn]
) -> list[TurnCut]:
    """The changes that take these turns of a path out of view, joined with the cuts they touch.

    `turns` are the turns in view.
    """
    gone = {turn.ref for turn in leaving}
    found: dict[TurnRef, TurnCut] = {}
    place, last = tip, None  # `last` is the newest turn of the cut that grows

    def older_cuts(until: TurnRef | None) -> list[TurnRef]:
        nonlocal place
        between: list[TurnRef] = []
        while place is not None and place != until and place in cuts.turns:
            between.append(place)
            place = cuts.turns[place]
        return between

    for turn in reversed(turns):
        between = older_cuts(turn.ref)
        if last is not None or turn.ref in gone:
            found |= {each: TurnCut(each, None, back=True) for each in between}
        if turn.ref in gone:
            last = last or (between[0] if between else turn.ref)
        elif last is not None:
            found[last] = TurnCut(last, turn.ref)
            last = None
        place = turn.parent
    if last is not None:
        found |= {each: TurnCut(each, None, back=True) for each in older_cuts(None)}
        found[last] = TurnCut(last, place)
    return list(found.values())


def cuts_without(path: Sequence[Turn], cuts: Cuts, coming: Sequence[Turn]) -> list[TurnCut]:
    """The changes that bring these turns back into view. `path` has all turns, cut or not."""
    back = {turn.ref for turn in coming}
    walk = CutWalk(cuts)
    inside: dict[TurnRef, list[Turn]] = {}
    for turn in reversed(path):
        last = walk.enters(turn.ref)
        if last is not None:
            inside.setdefault(last, []).append(turn)
    found: dict[TurnRef, TurnCut] = {}
    for last, members in inside.items():
        if not any(turn.ref in back for turn in members):
            continue
        found[last] = TurnCut(last, None, back=True)
        start: TurnRef | None = None
        for turn in members:  # the newest first
            if turn.ref in back:
                start = None
                continue
            start = start or turn.ref
            found[start] = TurnCut(start, turn.parent)
    return list(found.values())


def numbered_results(turn: Turn) -> list[tuple[int, Result]]:
    """The results of a turn with their numbers."""
    results = [item for item in turn.items if isinstance(item, Result)]
    return list(enumerate(results, 1))
