"""The stable names of Python and the routes of `/v1` are what was promised."""

import pytest

import sapwood
from tools.promise import KEPT, LINES, STABLE, broken


@pytest.mark.parametrize("name", LINES)
def test_everything_that_was_promised_is_still_true(name: str) -> None:
    kept = (KEPT / name).read_text().splitlines()
    assert len(kept) > 100
    found = broken(kept, list(LINES[name]()))
    assert found == [], 'To change the promise: just promise --because "REASON"'


def test_stable_names_are_public() -> None:
    assert set(STABLE) <= set(sapwood.__all__)


def test_what_goes_changes_or_is_newly_required_breaks_the_promise() -> None:
    kept = ["open(store): 0 required", "A.x: field 0", "StartBody.name: {}", "GET /v1/a needs read"]
    assert (
        broken(kept, [*kept, "A.y: field 1", "open(more): keyword-only", "B.z required: {}"]) == []
    )
    assert broken(kept, kept[1:]) == ["gone: open(store): 0 required"]
    assert broken(kept, [*kept, "open(more): keyword-only required"]) == [
        "now required: open(more): keyword-only required"
    ]
    assert broken(kept, [*kept, "StartBody.owner required: {}"]) == [
        "now required: StartBody.owner required: {}"
    ]
