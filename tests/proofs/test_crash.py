"""A small run of the crash proof, and tests that it finds faults."""

import random
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from msgspec.structs import replace

from proofs.crash.check import Findings, check
from proofs.crash.commands import AGENTS, commit_of
from proofs.crash.writer_killer import WriterKiller
from sapwood.core.ids import CommandId, Space
from sapwood.core.log_values import Append, Commit, Receipt
from sapwood.store.stores import StoreOptions, store_of

KILLS = 6
SPACE = Space("space")


@pytest.mark.parametrize("backend", ["sqlite", "postgres"])
def test_killed_writers_lose_nothing(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    address = str(tmp_path / "log.db")
    if backend == "postgres":
        address = request.getfixturevalue("postgres_dsn")
    killer = WriterKiller(address, tmp_path / "diary", random.Random())
    findings = killer.run(KILLS, every=3, report=print)
    assert findings.sentences == []
    assert killer.kills == KILLS
    assert killer.acknowledged


def commits(appends: int) -> Iterator[Commit]:
    """Commits to an empty log that write to this many agents."""
    for number in count():
        commit = commit_of(CommandId(f"0-0-{number}"), dict.fromkeys(AGENTS, 0))
        if len(commit.appends) == appends:
            yield commit


async def findings_after(path: Path, *commits: Commit, lost: tuple[str, ...] = ()) -> Findings:
    log = await store_of(path).open(str(path), StoreOptions())
    for commit in commits:
        await log.commit(SPACE, commit)
    await log.close()
    events = (event for commit in commits for each in commit.appends for event in each.events)
    given = {*lost, *(event.command for event in events)}
    return await check(str(path), SPACE, given, given)


async def test_a_whole_log_is_in_order(tmp_path: Path) -> None:
    assert not await findings_after(tmp_path / "log.db", next(commits(3)))


async def test_a_lost_command_is_noticed(tmp_path: Path) -> None:
    findings = await findings_after(tmp_path / "log.db", next(commits(1)), lost=("7-7-7",))
    assert findings.sentences == ["lost: 7-7-7 was acknowledged and is not there"]


async def test_half_a_command_is_noticed(tmp_path: Path) -> None:
    whole = next(commits(2))
    half = Commit(whole.appends[:1], whole.receipt)
    findings = await findings_after(tmp_path / "log.db", half)
    assert "not whole" in findings.sentences[0]


async def test_a_doubled_command_is_noticed(tmp_path: Path) -> None:
    once = next(commits(1))
    (append,) = once.appends
    end = len(append.events)
    events = tuple(replace(event, version=event.version + end) for event in append.events)
    again = Append(append.agent, end, events, replace(append.summary, version=2 * end))
    twice = Commit((again,), Receipt(CommandId("another"), "", ()))
    findings = await findings_after(tmp_path / "log.db", once, twice)
    assert "more than once" in findings.sentences[0]


async def test_a_changed_text_is_noticed(tmp_path: Path) -> None:
    commit = next(commits(1))
    (append,) = commit.appends
    other = CommandId(f"{commit.receipt.command}!")
    forged = tuple(replace(event, command=other) for event in append.events)
    changed = Commit((replace(append, events=forged),), replace(commit.receipt, command=other))
    assert (await findings_after(tmp_path / "log.db", changed)).sentences
