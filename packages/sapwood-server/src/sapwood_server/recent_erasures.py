"""Whether something was erased lately, so that nothing of it is answered from memory."""

from sapwood.core.ids import Space
from sapwood.display.quantities import now
from sapwood.lifecycle.erasable_log import ErasableLog
from sapwood.turns.log import Log


async def erased_within(log: Log, space: Space, seconds: float) -> bool:
    """Whether anything of a space was erased in the last seconds, or is being erased.

    The database is asked, because any process may have done it; the time is that of its clock.
    """
    if not isinstance(log, ErasableLog):
        return False
    since = now() - int(seconds * 1_000_000)
    return any(not each.finished or each.finished >= since for each in await log.erasures(space))
