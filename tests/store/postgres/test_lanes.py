"""Commits that share an agent or a command follow each other; all others may go together."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.core.ids import AgentId, Space
from sapwood.store.postgres.job import Job, job_of
from sapwood.store.postgres.lanes import Lanes
from tests.store.contract import append, commit_of, said

SPACE = Space("space")


def jobs_for(agents: Sequence[frozenset[str]], text: str = "x") -> list[Job]:
    async def make() -> list[Job]:
        return [
            job_of(SPACE, commit_of(*(append(AgentId(name), said(text)) for name in group)), 0.0)
            for group in agents
        ]

    return asyncio.run(make())


@given(st.lists(st.frozensets(st.sampled_from("abcde"), min_size=1), max_size=30))
def test_every_job_goes_once_and_never_before_an_earlier_one_on_its_agents(
    groups: list[frozenset[str]],
) -> None:
    jobs = jobs_for(groups)
    lanes = Lanes(1)
    for job in jobs:
        lanes.enter(job)
    gone: list[Job] = []
    under_way: list[list[Job]] = []
    while batch := lanes.take():
        agents = [key for job in batch for key in job.keys]
        busy = [key for other in under_way for job in other for key in job.keys]
        assert len(agents + busy) == len(set(agents + busy))
        under_way.append(batch)
        gone += batch
        if len(under_way) > 1 or not lanes.ready:
            for job in under_way.pop(0):
                lanes.leave(job)
            while under_way and not lanes.ready:
                for job in under_way.pop(0):
                    lanes.leave(job)
    assert sorted(map(jobs.index, gone)) == list(range(len(jobs)))
    for agent in "abcde":
        mine = [jobs.index(job) for job in gone if ("agent", SPACE, agent) in job.keys]
        assert mine == sorted(mine)


def test_the_same_command_goes_one_after_the_other() -> None:
    async def make() -> list[Job]:
        first = commit_of(append(AgentId("a"), said("x")))
        again = commit_of(append(AgentId("b"), said("x")), command=first.receipt.command)
        return [job_of(SPACE, commit, 0.0) for commit in (first, again)]

    lanes = Lanes(1)
    for job in (jobs := asyncio.run(make())):
        lanes.enter(job)
    assert lanes.take() == jobs[:1]
    assert lanes.take() == []
    lanes.leave(jobs[0])
    assert lanes.take() == jobs[1:]


@pytest.mark.parametrize(("text", "most"), [("x", 256), ("x" * 1_000_000, 4)])
def test_a_batch_stays_small_enough_to_be_quick(text: str, most: int) -> None:
    jobs = jobs_for([frozenset([f"agent-{n}"]) for n in range(600 if len(text) == 1 else 9)], text)
    lanes = Lanes(1)
    for job in jobs:
        lanes.enter(job)
    sizes: list[int] = []
    while batch := lanes.take():
        sizes.append(len(batch))
    assert max(sizes) <= most
    assert sum(sizes) == len(jobs)
