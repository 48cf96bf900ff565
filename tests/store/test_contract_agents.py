"""The contract of a log: agents are listed page by page, found by name, and by family."""

import asyncio
from typing import Any

import pytest

from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import AgentSummary, Append
from sapwood.turns.log import Log
from tests.store.contract import append, commit_of, prompt_event, start

ADA, BOB = AgentId("ada"), AgentId("bob")
DEPTH = 2000


async def names(log: Log, space: Space, name: str, limit: int = 10) -> list[str]:
    return [summary.agent for summary in await log.find(space, name, limit)]


async def pages(
    log: Log, space: Space, limit: int, parent: AgentId | None = None, status: str | None = None
) -> list[str]:
    """Every agent of the list, read `limit` at a time."""
    found: list[AgentSummary] = []
    while page := await log.agents(
        space, after=found[-1] if found else None, limit=limit, parent=parent, status=status
    ):
        assert len(page) <= limit
        found += page
    return [summary.agent for summary in found]


async def start_all(log: Log, space: Space, *appends: AgentSummary) -> None:
    await log.commit(
        space,
        commit_of(
            *(
                append(
                    each.agent,
                    prompt_event("hello"),
                    created=each.created,
                    parent=each.parent,
                    status=each.status,
                    name=each.name,
                )
                for each in appends
            )
        ),
    )


def born(
    agent: str, created: int, parent: str | None = None, status: str = "running"
) -> AgentSummary:
    assert status == "running" or status == "archived" or status == "killed"
    return AgentSummary(
        AgentId(agent), 1, status, "", AgentId(parent) if parent else None, created=created
    )


async def test_the_summary_is_that_of_the_last_commit(log: Log, space: Space) -> None:
    first = AgentSummary(
        ADA,
        1,
        "running",
        "Ada 🌲",
        BOB,
        "m",
        "~/project",
        10,
        20,
        77_000,
        True,
        3,
        True,
        "codex",
        "01a1",
    )
    await log.commit(space, commit_of(append(ADA, prompt_event("one"), **_given(first))))
    assert await log.summary(space, ADA) == first
    then = AgentSummary(
        ADA,
        3,
        "archived",
        "Adele",
        BOB,
        "n",
        "~/other",
        10,
        30,
        5,
        False,
        0,
        False,
        "codex",
        "01a1",
    )
    more = append(ADA, prompt_event("two"), prompt_event("three"), expected=1, **_given(then))
    await log.commit(space, commit_of(more))
    assert await log.summary(space, ADA) == then
    assert await log.agents(space) == [then]
    assert await log.agents(space, status="running") == []
    assert await names(log, space, "Ada 🌲") == []
    assert await names(log, space, "Adele") == [ADA]


def _given(summary: AgentSummary) -> dict[str, Any]:
    names = set(AgentSummary.__struct_fields__) - {"agent", "version"}
    return {name: getattr(summary, name) for name in names}


async def test_an_unknown_agent_has_no_summary(log: Log, space: Space) -> None:
    assert await log.summary(space, AgentId("nobody")) is None
    assert await log.agents(space) == []


def growing(agent: str, expected: int, **summary: Any) -> Append:
    """One more event of an agent whose name looks like a field of the summary."""
    name = '"working":true'
    return append(AgentId(agent), prompt_event("hello"), expected=expected, name=name, **summary)


@pytest.mark.parametrize("limit", [1, 2, 100])
async def test_agents_with_work_to_do_are_listed_page_by_page(
    log: Log, space: Space, limit: int
) -> None:
    for agent in "cbad":
        await log.commit(space, commit_of(growing(agent, 0, working=agent != "d")))
    await log.commit(space, commit_of(growing("e", 0, working=True, status="killed")))
    found: list[AgentSummary] = []
    while page := await log.working(space, after=found[-1].agent if found else None, limit=limit):
        assert len(page) <= limit
        found += page
    assert [summary.agent for summary in found] == ["a", "b", "c"]
    assert found[0] == await log.summary(space, AgentId("a"))


@pytest.mark.parametrize("limit", [1, 100])
async def test_spaces_with_work_to_do_are_listed_page_by_page(
    log: Log, space: Space, limit: int
) -> None:
    names = [Space(f"{space}/{name}") for name in "abcd"]
    for name in names:
        working = name != names[1]
        for agent in "xy":
            await log.commit(name, commit_of(growing(agent, 0, working=working)))
    ended = Space(f"{space}/e")
    await log.commit(ended, commit_of(growing("x", 0, working=True, status="killed")))
    found: list[Space] = []
    last: Space | None = None
    while page := await log.working_spaces(after=last, limit=limit):
        assert len(page) <= limit
        found += page
        last = page[-1]
    mine = [name for name in found if name.startswith(f"{space}/")]
    assert mine == [names[0], names[2], names[3]]


async def test_work_to_do_comes_and_goes(log: Log, space: Space) -> None:
    assert await log.working(space) == []
    for version, working in enumerate([False, True, True, False, True]):
        await log.commit(space, commit_of(growing("ada", version, working=working)))
        assert [summary.agent for summary in await log.working(space)] == ["ada"] * working
    await log.commit(space, commit_of(growing("ada", 5, working=True, status="archived")))
    assert await log.working(space) == []


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
async def test_pages_show_each_agent_once_newest_first(log: Log, space: Space, limit: int) -> None:
    # Three were created in the same moment, where the id decides.
    born_at = {"a": 1, "b": 5, "c": 5, "d": 5, "e": 3, "f": 9, "g": 2}
    await start_all(log, space, *(born(agent, created) for agent, created in born_at.items()))
    assert await pages(log, space, limit) == ["f", "d", "c", "b", "e", "g", "a"]


async def test_pages_show_each_agent_once_while_others_start(log: Log, space: Space) -> None:
    await start_all(log, space, *(born(f"old-{n:02}", n) for n in range(30)))
    seen: list[AgentSummary] = []
    newer = 100
    while page := await log.agents(space, after=seen[-1] if seen else None, limit=7):
        seen += page
        await start_all(log, space, born(f"new-{newer}", newer), born(f"between-{newer}", newer))
        newer += 1
    assert [summary.agent for summary in seen] == [f"old-{n:02}" for n in reversed(range(30))]


async def test_a_list_can_show_children_or_one_status_only(log: Log, space: Space) -> None:
    await start_all(
        log,
        space,
        born("root", 1),
        born("x", 2, "root"),
        born("y", 3, "root", "killed"),
        born("z", 4, "x", "archived"),
        born("w", 5, "root"),
    )
    root = AgentId("root")
    for limit in (1, 2, 100):
        assert await pages(log, space, limit, parent=root) == ["w", "y", "x"]
        assert await pages(log, space, limit, status="running") == ["w", "x", "root"]
        assert await pages(log, space, limit, status="killed") == ["y"]
        assert await pages(log, space, limit, root, "running") == ["w", "x"]
        assert await pages(log, space, limit, root, "archived") == []


async def test_an_agent_is_found_by_the_start_of_its_id_or_by_its_name(
    log: Log, space: Space
) -> None:
    await start(log, space, AgentId("abc123"), name="builder")
    await start(log, space, AgentId("abc456"), name="tester")
    await start(log, space, AgentId("b777"), name="abc")
    await start(log, space, AgentId("c888"), name="builder")
    assert await names(log, space, "abc") == ["b777"]
    assert set(await names(log, space, "ab")) == {"abc123", "abc456"}
    assert await names(log, space, "abc4") == ["abc456"]
    assert set(await names(log, space, "builder")) == {"abc123", "c888"}
    assert await names(log, space, "build") == []
    assert await names(log, space, "nobody") == []
    assert await names(log, space, "") == []
    assert len(await names(log, space, "ab", 1)) == 1
    assert len(await names(log, space, "builder", 1)) == 1


async def test_an_exact_id_comes_alone(log: Log, space: Space) -> None:
    await start(log, space, AgentId("abc"), name="")
    await start(log, space, AgentId("abcd"), name="abc")
    assert await names(log, space, "abc") == ["abc"]


@pytest.mark.parametrize("asked", ["a%", "a_", "a*", "a?", "[a]", "A", "%", "_", "a\\", "a'"])
async def test_no_character_of_a_name_means_anything_else(
    log: Log, space: Space, asked: str
) -> None:
    await start(log, space, AgentId("abc"), name="ab")
    assert await names(log, space, asked) == []
    await start(log, space, AgentId(f"{asked}1"), name="other")
    assert await names(log, space, asked) == [f"{asked}1"]


async def test_kin_are_found_however_deep(log: Log, space: Space) -> None:
    chain = [AgentId(f"agent-{n}") for n in range(DEPTH)]
    parents = [None, *chain]
    for n in range(0, DEPTH, 500):
        await start_all(log, space, *(born(chain[i], i, parents[i]) for i in range(n, n + 500)))
    await start_all(log, space, born("stranger", 1))
    assert await log.ancestors(space, chain[-1]) == chain[-2::-1]
    assert await log.ancestors(space, chain[0]) == []
    assert await log.descendants(space, chain[0]) == chain[1:]
    assert await log.descendants(space, chain[-1]) == []
    assert await log.ancestors(space, AgentId("nobody")) == []
    assert await log.descendants(space, AgentId("nobody")) == []


async def test_parents_come_before_their_children(log: Log, space: Space) -> None:
    await start_all(
        log,
        space,
        born("root", 1),
        born("m", 2, "root"),
        born("k", 3, "root"),
        born("a", 4, "m"),
        born("z", 5, "k"),
        born("b", 6, "a"),
    )
    found = await log.descendants(space, AgentId("root"))
    assert sorted(found) == ["a", "b", "k", "m", "z"]
    for parent, child in [("m", "a"), ("k", "z"), ("a", "b")]:
        assert found.index(AgentId(parent)) < found.index(AgentId(child))
    assert await log.ancestors(space, AgentId("b")) == ["a", "m", "root"]


async def test_a_family_is_the_root_with_all_its_descendants(log: Log, space: Space) -> None:
    await start_all(
        log,
        space,
        born("root", 1),
        born("m", 2, "root"),
        born("a", 4, "m"),
        born("k", 3, "root"),
        born("stranger", 1),
    )
    for agent in ("root", "m", "a", "k"):
        found = [each.agent for each in await log.family(space, AgentId(agent))]
        assert found[0] == "root"
        assert sorted(found) == ["a", "k", "m", "root"]
        assert found.index(AgentId("m")) < found.index(AgentId("a"))
    assert [each.parent for each in await log.family(space, AgentId("stranger"))] == [None]
    assert await log.family(space, AgentId("nobody")) == []


async def test_the_list_is_true_at_every_moment(log: Log, space: Space) -> None:
    """Summary and events are one commit: no reader sees one without the other."""

    async def write() -> None:
        for n in range(40):
            await log.commit(space, commit_of(append(ADA, prompt_event(str(n)), expected=n)))

    writing = asyncio.ensure_future(write())
    while not writing.done():
        summary = await log.summary(space, ADA)
        known = summary.version if summary else 0
        assert len(await log.read(space, ADA)) >= known
    await writing


HOUR = 3_600_000_000


def worked(agent: str, folder: str, updated: int, **more: Any) -> Append:
    return append(AgentId(agent), prompt_event("hello"), folder=folder, updated=updated, **more)


async def folder_pages(
    log: Log, space: Space, folder: str, limit: int = 10, status: str | None = None
) -> list[str]:
    """Every conversation of a folder, read `limit` at a time."""
    found: list[AgentSummary] = []
    while page := await log.conversations(
        space, folder, after=found[-1] if found else None, limit=limit, status=status
    ):
        assert len(page) <= limit
        found += page
    return [summary.agent for summary in found]


@pytest.mark.parametrize("limit", [1, 2, 10])
async def test_conversations_of_a_folder_come_last_written_to_first(
    log: Log, space: Space, limit: int
) -> None:
    await log.commit(
        space,
        commit_of(
            worked("old", "/wood", HOUR + 5),
            worked("newest", "/wood", 3 * HOUR),
            worked("same-hour", "/wood", HOUR + 7),
            worked("same-moment", "/wood", HOUR + 7),
            worked("elsewhere", "/wood/deep", 9 * HOUR),
            worked("nowhere", "", 9 * HOUR),
            worked("child", "/wood", 9 * HOUR, parent=ADA),
        ),
    )
    expected = ["newest", "same-moment", "same-hour", "old"]
    assert await folder_pages(log, space, "/wood", limit) == expected
    assert await folder_pages(log, space, "/nobody", limit) == []
    assert await folder_pages(log, space, "", limit) == []


async def test_a_conversation_moves_up_when_it_is_written_to(log: Log, space: Space) -> None:
    await log.commit(
        space, commit_of(worked("one", "/wood", HOUR), worked("two", "/wood", 2 * HOUR))
    )
    assert await folder_pages(log, space, "/wood") == ["two", "one"]
    again = worked("one", "/wood", 5 * HOUR, expected=1)
    await log.commit(space, commit_of(again))
    assert await folder_pages(log, space, "/wood") == ["one", "two"]


async def test_a_conversation_follows_its_folder_and_its_status(log: Log, space: Space) -> None:
    await log.commit(space, commit_of(worked("one", "/wood", HOUR)))
    await log.commit(space, commit_of(worked("one", "/moved", HOUR, expected=1)))
    assert await folder_pages(log, space, "/wood") == []
    assert await folder_pages(log, space, "/moved") == ["one"]
    ended = worked("one", "/moved", HOUR, expected=2, status="archived")
    await log.commit(space, commit_of(ended))
    assert await folder_pages(log, space, "/moved", status="running") == []
    assert await folder_pages(log, space, "/moved", status="archived") == ["one"]


@pytest.mark.parametrize(
    "folder", ['/a "quoted" \\ one', "/日本/🌲", "/tab\tand\nline", 'x","y":"z']
)
async def test_any_folder_is_found_by_its_exact_name(log: Log, space: Space, folder: str) -> None:
    await log.commit(space, commit_of(worked("one", folder, HOUR)))
    assert await folder_pages(log, space, folder) == ["one"]
    assert await folder_pages(log, space, folder[:-1]) == []


async def test_conversations_of_another_space_are_not_listed(log: Log, space: Space) -> None:
    await log.commit(Space(f"{space}-other"), commit_of(worked("one", "/wood", HOUR)))
    assert await folder_pages(log, space, "/wood") == []
