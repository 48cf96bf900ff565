"""A small run of the gate proof, and tests that it notices a missing check."""

from pathlib import Path

import pytest

from proofs.gate.every_argument import give
from proofs.gate.proof import prove
from proofs.gate.values import WORST
from sapwood.core.refusals import BadValue
from sapwood.turns.gate import Gate


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAPWOOD_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("SAPWOOD_CONFIG", str(tmp_path / "config.toml"))


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_no_call_stores_what_cannot_be_read_in_memory(seed: int) -> None:
    findings = await prove(":memory:", 400, seed)
    assert findings.problems == []
    assert findings.accepted > 100
    assert findings.refused > 50


async def test_every_argument_of_every_method_is_converted_or_refused() -> None:
    calls, problems = await give(WORST)
    assert problems == []
    assert calls > 800


@pytest.mark.night
async def test_no_call_stores_what_cannot_be_read_in_sqlite(tmp_path: Path) -> None:
    assert (await prove(str(tmp_path / "log.db"), 400, 4)).problems == []


@pytest.mark.night
async def test_no_call_stores_what_cannot_be_read_in_postgres(postgres_dsn: str) -> None:
    assert (await prove(postgres_dsn, 400, 5)).problems == []


async def test_an_open_gate_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def anything(self: Gate, command: object) -> object:
        fitted = convert(self, command)  # pyright: ignore[reportArgumentType] # that is the point
        return command if isinstance(fitted, BadValue) and fitted.place != "command" else fitted

    convert = Gate.command
    monkeypatch.setattr(Gate, "command", anything)
    assert (await prove(":memory:", 400, 1)).problems


async def test_a_mask_that_is_missing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def unmasked(text: str, known: object = ()) -> str:
        return text

    monkeypatch.setattr("sapwood.redaction.mask_secrets", unmasked)
    problems = (await prove(":memory:", 800, 1)).problems
    assert any("holds a secret" in problem for problem in problems)
