"""Moves a space to another database, and lets the workers and routers know."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from sapwood.app.worker_wakes import WorkerWakes
from sapwood.core.errors import LogError
from sapwood.core.ids import Space
from sapwood.store.stores import store_of

if TYPE_CHECKING:
    from sapwood.store.postgres import PostgresLog
    from sapwood.store.postgres.cell_directory import CellDirectory
    from sapwood.store.postgres.space_move import MoveReport


async def move_space(
    source: str,
    space: str,
    target: str,
    *,
    cell: str = "",
    directory: str = "",
    take_back: bool = False,
    on_step: Callable[[str], None] = lambda _: None,
) -> "MoveReport":
    """Moves a space from the database at `source` to the one at `target`, or continues a move.

    The space is used meanwhile, and stopped for at most two seconds. `cell` is the name by which
    a router knows the new place; it is also written into the table of routers in the database at
    `directory`, if that is given. With `take_back`, gives up a move that was interrupted before the
    new place owned the space. If both addresses are of one database, which has the space, only the
    table of routers is written. Raises `LogError`; then the space is where it was.
    """
    for address in (source, target):
        if not store_of(address).on_server:
            raise LogError(
                "Only spaces in PostgreSQL can be moved, to another PostgreSQL database. Nothing "
                "was changed. Name both: sapwood move SPACE --database ADDRESS --to ADDRESS"
            )
    from sapwood.store.postgres import PostgresLog
    from sapwood.store.postgres.space_move import MoveReport, SpaceMove, open_sides

    if directory and not take_back:
        await _require_cell(directory, cell)
    before = await PostgresLog.open(source)
    try:
        after = await PostgresLog.open(target)
        try:
            here, there = await open_sides(source, target)
            try:
                move = SpaceMove(Space(space), here, there, cell, on_step)
                if take_back:
                    return await move.take_back()
                if directory and await move.stays():
                    await before.require_here(Space(space))
                    await _tell_routers(directory, space, cell)
                    return MoveReport(Space(space), outcome="entered")
                report = await move.run()
                agents = await move.agents()
                before.announce_move(Space(space), agents)
                if directory:  # before workers there ask it
                    await _tell_routers(directory, space, cell)
                await _wake(target, after, Space(space))
                await move.clear_source()
                return report
            finally:
                here.terminate()
                there.terminate()
        finally:
            await after.close()
    finally:
        await before.close()


async def _wake(address: str, log: "PostgresLog", space: Space) -> None:
    wakes = WorkerWakes(address, log)
    try:
        await wakes.wake_space(space)
    finally:
        await wakes.close()


async def open_directory(address: str) -> "CellDirectory":
    """Opens the table of routers in the database at this address. Raises `LogError`."""
    if not store_of(address).on_server:
        raise LogError("The table of routers has to be in PostgreSQL: --directory ADDRESS")
    from sapwood.store.postgres.cell_directory import CellDirectory

    return await CellDirectory.open(address)


async def _require_cell(address: str, cell: str) -> None:
    directory = await open_directory(address)
    try:
        await directory.require_cell(cell)
    finally:
        await directory.close()


async def _tell_routers(address: str, space: str, cell: str) -> None:
    directory = await open_directory(address)
    try:
        await directory.move(space, cell)
    finally:
        await directory.close()
