"""Legal holds: they forbid erasure and retention until they are released. All of them are kept."""

from sapwood.core.erasure import Hold, HoldScope
from sapwood.core.errors import RefusedError
from sapwood.core.ids import Space
from sapwood.core.refusals import UnknownHold
from sapwood.lifecycle.erasable_log import ErasableLog
from sapwood.turns.clock_and_ids import new_record_id, now


async def add_hold(
    log: ErasableLog, space: Space, scope: HoldScope, subject: str, *, by: str, reason: str = ""
) -> Hold:
    """Stores a new hold and returns it."""
    hold = Hold(new_record_id(), now(), by, scope, subject, reason)
    await log.add_hold(space, hold)
    return hold


async def release_hold(log: ErasableLog, space: Space, hold: str, *, by: str) -> None:
    """Releases a hold. Raises `RefusedError` if none with this id is in force."""
    if not await log.release_hold(space, hold, by, now()):
        raise RefusedError(UnknownHold(hold))
