"""The delay of bare LISTEN and NOTIFY: commit a row with a notification, then read the row."""

import asyncio
import time

import asyncpg

PAUSE = 0.01
_TABLE = "CREATE TABLE IF NOT EXISTS public.notices (number serial PRIMARY KEY, body text NOT NULL)"
_WRITE = """
    WITH row AS (INSERT INTO public.notices (body) VALUES ($1) RETURNING number)
    SELECT number, pg_notify('notices', number::text) FROM row
"""
_READ = "SELECT body FROM public.notices WHERE number = $1"


async def bare_notify(
    dsn: str, enough: asyncio.Event | None, max_delays: int | None = None
) -> list[float]:
    """Milliseconds from the end of a commit until the listener has read its row."""
    writer, listener, reader = [await asyncpg.connect(dsn) for _ in range(3)]
    await writer.execute(_TABLE)
    heard: asyncio.Queue[int] = asyncio.Queue()

    def on_notice(session: object, pid: int, channel: str, number: object) -> None:
        heard.put_nowait(int(str(number)))

    await listener.add_listener("notices", on_notice)
    delays: list[float] = []
    while not (enough and enough.is_set()) and len(delays) != max_delays:
        writing = asyncio.create_task(_write(writer))
        await reader.fetchval(_READ, await heard.get())
        in_hand = time.time()
        delays.append(1000 * (in_hand - await writing))
        await asyncio.sleep(PAUSE)
    await asyncio.gather(writer.close(), listener.close(), reader.close())
    return delays


async def _write(writer: "asyncpg.Connection[asyncpg.Record]") -> float:
    await writer.fetch(_WRITE, "x" * 160)
    return time.time()
