"""A space moves between two databases while it is used, and has one owner at every moment."""

import asyncio
from collections.abc import Callable, Generator, Iterable

import asyncpg
import pytest

from sapwood.app.connection import Connection
from sapwood.app.operations_overview import overview_of
from sapwood.app.space_move import move_space
from sapwood.config.config_file import CellConfig, Config
from sapwood.core.content import Text
from sapwood.core.erasure import Erasure
from sapwood.core.errors import LogError, SpaceMoved, SpaceStopped
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.live_words import LiveWords
from sapwood.core.log_values import Cursor, Snapshot
from sapwood.doctor.database_checks import check_database
from sapwood.engine import DriveLimits
from sapwood.engine.limits import Intervals
from sapwood.engine.process_engine import ProcessEngine
from sapwood.engine.wake_database import open_wake_database
from sapwood.engine.wake_requests import WakeRequest, new_drive_id
from sapwood.store.master_keys import MasterKeys
from sapwood.store.postgres import PostgresLog, space_move
from sapwood.store.postgres.cell_directory import CellDirectory, CellFence
from sapwood.store.postgres.move_table import MOVER_LOCK
from sapwood.store.postgres.space_comparison import CopyDiffers, SpaceComparison
from sapwood.store.postgres.space_copy import SpaceCopy
from tests.postgres_session import execute, new_database
from tests.store.backends import TEST_KEY
from tests.store.contract import append, commit_of, prompt_event, take

SPACE, OTHER = Space("tenant-7"), Space("tenant-8")
ADA, BOB, CAT = AgentId("ada"), AgentId("bob"), AgentId("cat")
BIG = "A long text, stored once. " * 100
STEPS = ("begin", "copy", "check", "stop", "decide", "open", "clear")


class Killed(BaseException):
    """The process that moves the space ends here."""


def killed_at(step: str, number: int = 1) -> Callable[[str], None]:
    """Ends the move before a step, the `number`th time that it comes."""
    left = number

    def on_step(name: str) -> None:
        nonlocal left
        left -= name == step
        if name == step and left == 0:
            raise Killed(step)

    return on_step


@pytest.fixture
def cells(postgres_dsn: str) -> Generator[tuple[str, str]]:
    """Two empty databases."""
    with new_database(postgres_dsn) as first, new_database(postgres_dsn) as second:
        yield first, second


async def fill(log: PostgresLog, space: Space = SPACE) -> None:
    """Two agents with long texts, words that arrive, a snapshot, a token."""
    await log.commit(space, commit_of(append(ADA, prompt_event("needle"), prompt_event(BIG))))
    await log.commit(space, commit_of(append(BOB, prompt_event("needle"), prompt_event(BIG))))
    await log.commit(
        space,
        commit_of(
            append(ADA, prompt_event("more"), expected=2),
            append(BOB, prompt_event("more"), expected=2),
        ),
    )
    await log.save_words(space, ADA, 3, LiveWords(3, CommandId("w"), (Text("half a"),)), None)
    await log.save_snapshot(space, Snapshot(BOB, 2, "1", b"\x00\xff"))


async def owner_of(first: str, second: str, space: Space = SPACE) -> str:
    """Which database takes a commit; the stop of a dead mover ends by itself."""
    found: list[str] = []
    for name, address in (("first", first), ("second", second)):
        log = await PostgresLog.open(address, patience=2.5)
        try:
            await log.require_here(space)
            if (summary := await log.summary(space, ADA)) is not None:
                one = append(ADA, prompt_event("whose?"), expected=summary.version)
                await log.commit(space, commit_of(one))
                found.append(name)
        except (SpaceMoved, SpaceStopped):
            pass
        finally:
            await log.close()
    assert len(found) <= 1, found
    return "".join(found)


async def require_named_by_doctor(first: str, second: str, space: Space, step: str) -> None:
    """The doctor of the database before, or of both, names the command that ends the move."""
    sides = [await check_database(Config(database=each), None) for each in (first, second)]
    moves = [[each for each in side if each.topic == "move"] for side in sides]
    shown = [[each.next_step for each in side] for side in moves]
    assert {each.state for side in moves for each in side} <= {"broken"}, step
    command, back = f"sapwood move {space} --to ADDRESS", ", or add --take-back"
    arriving = f"sapwood move {space} --database SOURCE --to ADDRESS (this one){back}"
    expected: dict[str, list[list[str]]] = {
        "begin": [[], []],
        "open": [[command], [arriving]],
        "clear": [[command], []],
    }
    assert shown == expected.get(step, [[command + back], [arriving]]), step


async def test_everything_of_a_space_is_at_the_new_place_and_nothing_at_the_old(
    cells: tuple[str, str],
) -> None:
    first, second = cells
    before, after = await PostgresLog.open(first), await PostgresLog.open(second)
    await fill(before)
    await fill(before, OTHER)
    _, record = await before.tokens.create("ci", SPACE, ("read",))
    logs = [await before.read(SPACE, agent) for agent in (ADA, BOB)]
    tail = await take(before.tail(SPACE), 6)
    receipts = [await before.receipt(SPACE, each.command) for each in logs[0]]
    following = asyncio.ensure_future(take(before.tail(SPACE, tail[-1].cursor), 1))

    report = await move_space(first, SPACE, second, cell="b")

    assert (report.outcome, report.agents, report.events) == ("moved", 2, 6)
    assert report.pause < 2
    assert [await after.read(SPACE, agent) for agent in (ADA, BOB)] == logs
    assert await take(after.tail(SPACE), 6) == tail
    assert await take(after.tail(SPACE, Cursor(3)), 3) == tail[3:]
    assert [await after.receipt(SPACE, each.command) for each in logs[0]] == receipts
    assert await after.words(SPACE, ADA) == LiveWords(3, CommandId("w"), (Text("half a"),))
    assert await after.snapshot(SPACE, BOB, "1") == Snapshot(BOB, 2, "1", b"\x00\xff")
    assert len(await after.search(SPACE, "needle")) == 2
    assert [each.id for each in await after.tokens.records()] == [record.id]
    with pytest.raises(SpaceMoved) as moved:
        await asyncio.wait_for(following, 10)
    assert moved.value.cell == "b"
    with pytest.raises(SpaceMoved):
        await before.commit(SPACE, commit_of(append(AgentId("new"), prompt_event("late"))))
    with pytest.raises(SpaceMoved):
        await before.require_here(SPACE)
    session: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(first)
    tables = await session.fetch(
        "SELECT table_name FROM information_schema.columns"
        " WHERE table_schema = 'sapwood' AND column_name = 'space'"
        " AND table_name NOT IN ('moves', 'tokens')"
    )
    for (table,) in tables:
        query = f"SELECT count(*) FROM sapwood.{table} WHERE space = $1"
        assert not await session.fetchval(query, SPACE), table
    await session.close()
    assert len(await before.read(OTHER, ADA)) == 3
    await after.commit(SPACE, commit_of(append(ADA, prompt_event("on"), expected=3)))
    assert (await take(after.tail(SPACE, Cursor(6)), 1))[0].cursor == Cursor(7)
    for log in (before, after):
        await log.close()


async def test_what_arrived_in_a_stop_that_took_too_long_arrives_again(
    cells: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = cells
    before, after = await PostgresLog.open(first), await PostgresLog.open(second)
    await fill(before)
    while_used, compare_rest = SpaceCopy.while_used, SpaceComparison.compare_rest
    stops = 0

    async def used_once_more(copy: SpaceCopy) -> None:
        await while_used(copy)
        late = append(ADA, prompt_event(BIG), expected=3 + stops)
        await before.commit(SPACE, commit_of(late))

    async def too_late(comparison: SpaceComparison, changed: Iterable[str]) -> None:
        nonlocal stops
        stops += 1
        if stops == 1:
            execute(first, "UPDATE sapwood.moves SET state = 'leaving', until = NULL")
            raise CopyDiffers("somebody went on")
        await compare_rest(comparison, changed)

    monkeypatch.setattr(SpaceCopy, "while_used", used_once_more)
    monkeypatch.setattr(SpaceComparison, "compare_rest", too_late)
    monkeypatch.setattr(space_move, "PAUSES", (0.0,))
    report = await move_space(first, SPACE, second)
    assert (report.stops, report.events) == (2, 8)
    assert len(await after.read(SPACE, ADA)) == 5
    for log in (before, after):
        await log.close()


async def test_a_stop_compares_only_what_has_changed_since(
    cells: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = cells
    before, after = await PostgresLog.open(first), await PostgresLog.open(second)
    await fill(before)
    while_used, compare_rows = SpaceCopy.while_used, SpaceComparison._compare_rows  # pyright: ignore[reportPrivateUsage]
    compared: list[set[str]] = []

    async def used_once_more(copy: SpaceCopy) -> None:
        await while_used(copy)
        compared.clear()
        await before.commit(SPACE, commit_of(append(BOB, prompt_event("late"), expected=3)))
        await before.commit(SPACE, commit_of(append(CAT, prompt_event("later"))))

    async def noted(comparison: SpaceComparison, agents: Iterable[str]) -> set[str]:
        compared.append(set(agents))
        return await compare_rows(comparison, agents)

    monkeypatch.setattr(SpaceCopy, "while_used", used_once_more)
    monkeypatch.setattr(SpaceComparison, "_compare_rows", noted)
    report = await move_space(first, SPACE, second)
    assert compared == [{BOB, CAT}]
    assert report.agents == 3
    assert len(await after.read(SPACE, BOB)) == 4
    for log in (before, after):
        await log.close()


async def test_a_copy_that_differs_stops_the_move(cells: tuple[str, str]) -> None:
    first, second = cells
    log = await PostgresLog.open(first)
    for number, (change, named) in enumerate(
        (
            ("UPDATE sapwood.agents SET facts = facts || ' ' WHERE agent = 'bob'", "table agents"),
            ("DELETE FROM sapwood.events WHERE agent = 'bob' AND version = 3", "log of an agent"),
        )
    ):
        space = Space(f"space-{number}")
        await fill(log, space)
        with pytest.raises(Killed):
            await move_space(first, space, second, on_step=killed_at("check"))
        session: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(second)
        await session.execute(
            "SELECT set_config('sapwood.move', id, false) FROM sapwood.moves WHERE space = $1",
            space,
        )
        await session.execute(f"{change} AND space = '{space}'")
        await session.close()
        with pytest.raises(LogError, match=f"differs in the {named}"):
            await move_space(first, space, second)
        assert await owner_of(first, second, space) == "first", change
    await log.close()


async def test_receipts_of_long_ago_and_of_now_are_compared(cells: tuple[str, str]) -> None:
    first, second = cells
    log = await PostgresLog.open(first)
    for space, at in ((SPACE, "now() - interval '1 day'"), (OTHER, "now()")):
        await fill(log, space)
        with pytest.raises(Killed):
            await move_space(first, space, second, on_step=killed_at("stop"))
        strange = f"INSERT INTO sapwood.receipts VALUES ('{space}', 'client-1', 'stored', {at})"
        execute(second, strange)
        with pytest.raises(LogError, match="differs in the table receipts"):
            await move_space(first, space, second)
    await log.close()


@pytest.mark.night  # it waits for stops that end by themselves
async def test_a_move_that_is_killed_leaves_one_owner_and_goes_on(
    cells: tuple[str, str],
) -> None:
    first, second = cells
    log = await PostgresLog.open(first)
    version = 0
    for number, step in enumerate(STEPS):
        space = Space(f"space-{number}")
        await fill(log, space)
        with pytest.raises(Killed):
            await move_space(first, space, second, on_step=killed_at(step))
        await require_named_by_doctor(first, second, space, step)
        decided = step in ("open", "clear")
        owner = await owner_of(first, second, space)
        expected = "second" if step == "clear" else "" if decided else "first"
        assert owner == expected, step
        report = await move_space(first, space, second)
        assert report.outcome == ("finished" if decided else "moved"), step
        assert await owner_of(first, second, space) == "second", step
        other = await PostgresLog.open(second)
        version = (await other.read(space, ADA))[-1].version
        assert version == (4 if step == "open" else 5), step
        await other.close()
    await log.close()


async def test_workers_of_the_new_place_run_nothing_of_a_space_that_is_still_arriving(
    cells: tuple[str, str],
) -> None:
    first, second = cells
    before, after = await PostgresLog.open(first), await PostgresLog.open(second)
    driven: set[tuple[Space, AgentId]] = set()
    changed = asyncio.Event()

    async def drive(space: Space, agent: AgentId) -> None:
        driven.add((space, agent))
        changed.set()

    async def until_driven(*wanted: tuple[Space, AgentId]) -> None:
        async with asyncio.timeout(30):
            while not driven.issuperset(wanted):
                changed.clear()
                await changed.wait()

    worker = ProcessEngine(second, intervals=Intervals(poll=0.05), is_worker=True)
    await worker.launch(drive)
    another = ProcessEngine(second)
    for step in ("copy", "check", "stop", "decide", "open"):
        space, barrier = Space(f"killed-at-{step}"), AgentId(f"after-{step}")
        await fill(before, space)
        await before.commit(space, commit_of(append(CAT, prompt_event("go on"), working=True)))
        with pytest.raises(Killed):
            await move_space(first, space, second, on_step=killed_at(step))
        await worker.wake(space, ADA)
        await another.wake(space, BOB)
        assert space not in await after.working_spaces(), step
        await another.wake(OTHER, barrier)
        await until_driven((OTHER, barrier))
        claimed = f"SELECT agent FROM sapwood_engine.bells WHERE space = '{space}' AND worker <> ''"
        assert execute(second, claimed) == [], step
        assert space not in {each for each, _ in driven}, step
        await move_space(first, space, second)
        await until_driven((space, ADA), (space, BOB), (space, CAT))
        assert space in await after.working_spaces(), step
    for engine in (worker, another):
        await engine.close()
    for log in (before, after):
        await log.close()


async def test_a_request_that_was_found_before_its_space_arrives_is_not_claimed(
    cells: tuple[str, str],
) -> None:
    first, second = cells
    log = await PostgresLog.open(first)
    await fill(log)
    await (await PostgresLog.open(second)).close()
    wakes, limits = await open_wake_database(second), DriveLimits()
    await wakes.wake(WakeRequest(SPACE, ADA, new_drive_id()))
    [found] = await wakes.waiting(limits, 1)
    with pytest.raises(Killed):
        await move_space(first, SPACE, second, on_step=killed_at("copy"))
    assert await wakes.claim(found, new_drive_id(), "worker", "holder", limits) is None
    await move_space(first, SPACE, second)
    [found] = await wakes.waiting(limits, 1)
    assert await wakes.claim(found, new_drive_id(), "worker", "holder", limits) is not None
    await wakes.close()
    await log.close()


@pytest.mark.night
async def test_routers_learn_where_a_space_is_and_misspelt_cells_are_refused(
    cells: tuple[str, str],
) -> None:
    first, second = cells
    log = await PostgresLog.open(first)
    await fill(log)
    directory = await CellDirectory.open(second)
    with pytest.raises(LogError, match="None has been started"):
        await move_space(first, SPACE, first, cell="a", directory=second)
    await directory.enter(["a", "b"])
    await directory.enter(["b", "c"])
    with pytest.raises(LogError, match=r"No.*'typo'.*a, b, c\. Nothing was changed"):
        await move_space(first, SPACE, second, cell="typo", directory=second)
    with pytest.raises(LogError, match="has no space"):
        await move_space(first, OTHER, first, cell="a", directory=second)
    entered = await move_space(first, SPACE, first, cell="a", directory=second)
    assert (entered.outcome, await directory.find(SPACE)) == ("entered", "a")
    assert await directory.add(SPACE, "c") == "a"
    await move_space(first, SPACE, second, cell="typo")
    await move_space(first, SPACE, second, cell="b", directory=second)
    assert await directory.find(SPACE) == "b"
    with pytest.raises(SpaceMoved, match="'b'"):
        await log.require_here(SPACE)
    await directory.close()
    await log.close()


@pytest.mark.night
async def test_a_restored_backup_does_not_bring_back_a_space_that_has_moved_since(
    cells: tuple[str, str],
) -> None:
    first, second = cells
    directory = await CellDirectory.open(second)
    await directory.enter(["a", "b"])
    before = await PostgresLog.open(first, fence=CellFence(second, "a"))
    after = await PostgresLog.open(second, fence=CellFence(second, "b"))
    await fill(before)
    await move_space(first, SPACE, second, cell="b", directory=second)
    await after.commit(SPACE, commit_of(append(ADA, prompt_event("newer"), expected=3)))
    config = Config(database=first, cell=CellConfig(name="a", directory=second))
    seen = await overview_of(Connection(before, SPACE), first, lambda each: True, 60.0)
    assert [each.elsewhere.partition(". ")[0] for each in seen.spaces] == [
        "The space 'tenant-7' was moved to the cell 'b'"
    ]

    execute(first, "DELETE FROM sapwood.moves")  # the backup does not know of the move
    unfenced = await PostgresLog.open(first)
    await fill(unfenced)

    for call in (
        before.require_here(SPACE),
        before.commit(SPACE, commit_of(append(ADA, prompt_event("late"), expected=3))),
        before.save_words(SPACE, ADA, 3, LiveWords(3, CommandId("w"), (Text("late"),)), None),
    ):
        with pytest.raises(SpaceMoved, match="to the cell 'b'"):
            await call
    [found] = [each for each in await check_database(config, None) if each.topic == "cell"]
    assert found.state == "broken"
    assert "the routers have 'tenant-7' in b" in found.message
    await move_space(first, SPACE, first, cell="a", directory=second)  # this one is right
    await before.commit(SPACE, commit_of(append(ADA, prompt_event("here"), expected=3)))
    [found] = [each for each in await check_database(config, None) if each.topic == "cell"]
    assert found.state == "ok"
    await directory.close()
    for log in (before, after, unfenced):
        await log.close()


@pytest.mark.night
async def test_a_move_can_be_taken_back_and_made_again_and_the_space_can_return(
    cells: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = cells
    masters = MasterKeys([TEST_KEY], "*")
    log = await PostgresLog.open(first, masters=masters)
    await fill(log)
    whole = await log.read(SPACE, ADA)
    with pytest.raises(Killed):
        await move_space(first, SPACE, second, on_step=killed_at("stop"))
    other = await PostgresLog.open(second, masters=masters)
    for refused in (
        other.require_here(SPACE),
        other.commit(SPACE, commit_of(append(AgentId("new"), prompt_event("early")))),
    ):  # at once: the new place does not know whether the space ever arrives
        with pytest.raises(SpaceStopped, match="to this database was interrupted"):
            await asyncio.wait_for(refused, 3)
    await other.close()
    erasure = Erasure("k3h7", 0, "human:ada", "conversation")
    with pytest.raises(SpaceStopped, match=r"interrupted\. Nothing .* sapwood move .*--take-back"):
        await log.begin_erasure(SPACE, erasure, [ADA])
    mover: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(first)
    assert await mover.fetchval(MOVER_LOCK, SPACE)
    with pytest.raises(SpaceStopped, match="Try again in a few seconds"):
        await log.begin_erasure(SPACE, erasure, [ADA])
    await mover.close()
    assert (await move_space(first, SPACE, second, take_back=True)).outcome == "taken back"
    with pytest.raises(LogError, match="not being moved"):
        await move_space(first, SPACE, second, take_back=True)
    for wrong, said in ((first, "already"), ("log.db", "PostgreSQL")):
        with pytest.raises(LogError, match=said):
            await move_space(first, SPACE, wrong)
    with pytest.raises(LogError, match="has no space"):
        await move_space(first, "nobody", second)
    with monkeypatch.context() as patch:
        patch.setattr(space_move, "STOP_SECONDS", 0.0)
        patch.setattr(space_move, "PAUSES", (0.0,))
        with pytest.raises(LogError, match="could not be copied"):
            await move_space(first, SPACE, second)
    await log.commit(SPACE, commit_of(append(AgentId("still here"), prompt_event("yes"))))
    await move_space(first, SPACE, second, cell="b")
    other = await PostgresLog.open(second, masters=masters)
    assert await other.read(SPACE, ADA) == whole
    await move_space(second, SPACE, first, cell="a")
    assert await log.read(SPACE, ADA) == whole
    await log.commit(SPACE, commit_of(append(ADA, prompt_event("back"), expected=3)))
    with pytest.raises(SpaceMoved):
        await other.require_here(SPACE)
    await fill(other, OTHER)
    await fill(log, OTHER)
    with pytest.raises(LogError, match="has a space"):
        await move_space(first, OTHER, second)
    for each in (log, other):
        await each.close()
