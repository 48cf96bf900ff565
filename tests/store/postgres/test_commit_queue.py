"""Commits that share an agent or a command run one after the other; others run together."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.core.ids import AgentId, Space
from sapwood.store.postgres.commit_queue import CommitJob, KeyedQueue, job_of
from tests.store.contract import append, commit_of, prompt_event

SPACE = Space("space")


def jobs_for(agents: Sequence[frozenset[str]], text: str = "x") -> list[CommitJob]:
    async def make() -> list[CommitJob]:
        return [
            job_of(
                SPACE,
                commit_of(*(append(AgentId(name), prompt_event(text)) for name in group)),
                0.0,
            )
            for group in agents
        ]

    return asyncio.run(make())


@given(st.lists(st.frozensets(st.sampled_from("abcde"), min_size=1), max_size=30))
def test_every_job_goes_once_and_never_before_an_earlier_one_on_its_agents(
    groups: list[frozenset[str]],
) -> None:
    jobs = jobs_for(groups)
    queue = KeyedQueue(1)
    for job in jobs:
        queue.add(job)
    gone: list[CommitJob] = []
    under_way: list[list[CommitJob]] = []
    while batch := queue.next_batch():
        agents = [key for job in batch for key in job.keys]
        busy = [key for other in under_way for job in other for key in job.keys]
        assert len(agents + busy) == len(set(agents + busy))
        under_way.append(batch)
        gone += batch
        if len(under_way) > 1 or not queue.ready:
            for job in under_way.pop(0):
                queue.remove(job)
            while under_way and not queue.ready:
                for job in under_way.pop(0):
                    queue.remove(job)
    assert sorted(map(jobs.index, gone)) == list(range(len(jobs)))
    for agent in "abcde":
        mine = [jobs.index(job) for job in gone if ("agent", SPACE, agent) in job.keys]
        assert mine == sorted(mine)


def test_the_same_command_goes_one_after_the_other() -> None:
    async def make() -> list[CommitJob]:
        first = commit_of(append(AgentId("a"), prompt_event("x")))
        again = commit_of(append(AgentId("b"), prompt_event("x")), command=first.receipt.command)
        return [job_of(SPACE, commit, 0.0) for commit in (first, again)]

    queue = KeyedQueue(1)
    for job in (jobs := asyncio.run(make())):
        queue.add(job)
    assert queue.next_batch() == jobs[:1]
    assert queue.next_batch() == []
    queue.remove(jobs[0])
    assert queue.next_batch() == jobs[1:]


@pytest.mark.parametrize(("text", "most"), [("x", 256), ("x" * 1_000_000, 4)])
def test_a_batch_stays_small_enough_to_be_quick(text: str, most: int) -> None:
    jobs = jobs_for([frozenset([f"agent-{n}"]) for n in range(600 if len(text) == 1 else 9)], text)
    queue = KeyedQueue(1)
    for job in jobs:
        queue.add(job)
    sizes: list[int] = []
    while batch := queue.next_batch():
        sizes.append(len(batch))
    assert max(sizes) <= most
    assert sum(sizes) == len(jobs)
