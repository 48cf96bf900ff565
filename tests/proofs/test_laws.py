"""The laws hold on generated histories, and the proof notices a broken law."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from msgspec import structs

from proofs.histories import OPERATIONS, Operation, histories
from proofs.laws import Violation, run_history, run_stored
from proofs.stored_histories import IMPORTED, Difference
from sapwood.core import context, decide, evolve, history_size
from sapwood.core import live_path as live
from sapwood.core.context import Context, Mark, Step
from sapwood.core.decide import contexts, forks, turns
from sapwood.core.decide import trims as trimming
from sapwood.core.ids import Space
from sapwood.core.view import build as view_turns
from sapwood.store.sqlite import SqliteLog
from sapwood.turns.dispatch import Dispatcher


@given(histories())
def test_all_laws_hold_on_generated_histories(operations: list[Operation]) -> None:
    run_history(operations)


def test_a_window_that_moves_again_after_its_undo_leaves_nothing_to_redo() -> None:
    """The shortest history of a violation of law 4 that was found in 8,000 histories."""
    small = [(0, 0, 0)] * 14
    run_history([(0, 5, 0), *small, (0, 5, 11), (71, 0, 0), (0, 0, 0), (73, 0, 0), (94, 0, 0)])


_DETOUR: list[Operation] = [(0, 4, 1)] * 3 + [(0, 5, 1)] * 3
"""Six turns, half of them with a tool result."""


def _operation(name: str) -> int:
    return next(place for place, each in enumerate(OPERATIONS) if each.__name__ == name)


def _drop_and_restore() -> list[Operation]:
    return [*_DETOUR, (_operation("_dropped"), 1, 2), (_operation("_restored"), 0, 1)]


@pytest.mark.parametrize("session", ["", *IMPORTED])
async def test_a_database_agrees_with_a_history_in_memory(session: str, tmp_path: Path) -> None:
    log = await SqliteLog.open(tmp_path / "laws.db")
    assert await run_stored(log, Space("laws"), _drop_and_restore(), session)
    await log.close()


async def test_a_database_that_differs_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing_is_cut(*_: object) -> None:
        return None

    monkeypatch.setattr(Dispatcher, "_uncut", nothing_is_cut)
    log = await SqliteLog.open(tmp_path / "laws.db")
    with pytest.raises(Difference, match="Restore"):
        await run_stored(log, Space("laws"), _drop_and_restore())
    await log.close()


def forget_the_summary(step: Step, now: Context, marks: tuple[Mark, ...]) -> Any:
    restored, kept = context.undo_step(step, now, marks)
    return structs.replace(restored, summary=None), kept


def carry_nothing(*_: object) -> None:
    return None


_TURNS_TO_LEAVE = trimming.turns_to_leave


def leave_one_turn_too_few(sizes: list[int], cap: int, low_water: float) -> int:
    return max(0, _TURNS_TO_LEAVE(sizes, cap, low_water) - 1)


def suffix_with_one_turn_more(state: Any, now: Any, mark: Mark) -> Context:
    return structs.replace(state.context, head=None, summary=None, request=None)


def mask_ended_turns(path: live.LivePath) -> list[int]:
    return [turn.last for turn in path.all_turns]


def never_refuse(*_: object) -> None:
    return None


def keep_the_marks(step: Step, now: Context, marks: tuple[Mark, ...]) -> Any:
    return context.undo_step(step, now, marks)[0], marks


def answer_with_the_call(turn: Any, call: Any, result: Any, masked: Any) -> Any:
    return call


def keep_the_old_path(path: live.LivePath, now: Context) -> live.LivePath:
    return path


def say_nothing(*_: object) -> str:
    return ""


def leave_the_mask(now: Context, *_: object) -> Context:
    return now


def leave_the_notes(step: Step, notes: Any) -> Any:
    return notes


def any_hash(request: Any) -> Any:
    class Same(str):
        def __ne__(self, other: object) -> bool:
            return False

    return Same()


def slide_at_the_end_only(draft: Any, counter: Any) -> None:
    if draft.events:
        trimming.slide(draft, counter)


def always(*_: object) -> bool:
    return True


BREAKAGES: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "undo forgets the summary": (contexts, "undo_step", forget_the_summary),
    "undo forgets marks": (evolve, "undo_step", keep_the_marks),
    "a trim loses the last request": (trimming, "_carried", carry_nothing),
    "the window stops too early": (trimming, "turns_to_leave", leave_one_turn_too_few),
    "a fork from a mark sees too much": (forks, "_suffix", suffix_with_one_turn_more),
    "an interrupted call has no result": (view_turns, "how_it_ended", say_nothing),
    "results are masked without an event": (history_size, "mask_edges", mask_ended_turns),
    "a turn ends with open calls": (view_turns, "_answer", answer_with_the_call),
    "a context command runs inside a turn": (decide, "require_may_run", never_refuse),
    "the live path is not read again": (live, "inherited", keep_the_old_path),
    "a mark brings masked results back": (evolve, "as_of_turn", leave_the_mask),
    "a fork brings masked results back": (forks, "as_of_turn", leave_the_mask),
    "undo mixes up what waits": (evolve, "_notes_before", leave_the_notes),
    "a manifest may be outdated": (turns, "digest", any_hash),
    "instructions change in between": (turns, "_may_read", always),
    "an outgrown window stays": (turns, "slide", slide_at_the_end_only),
}


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_a_broken_rule_is_noticed(breakage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, name, replacement = BREAKAGES[breakage]
    monkeypatch.setattr(module, name, replacement)
    with pytest.raises((Violation, AssertionError, ValueError, KeyError)):
        play_until_broken()


def play_until_broken() -> None:
    random = Random(7)
    for _ in range(400):
        run_history(
            [
                (random.randrange(len(OPERATIONS)), random.randrange(256), random.randrange(256))
                for _ in range(60)
            ]
        )
