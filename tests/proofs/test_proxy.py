"""The network of the proof of a service passes everything on, late, or not while it is cut."""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import cast
from urllib.parse import urlsplit

from proofs.service.proxy import SENT_AGAIN, Proxy

CHANCE = random.Random(1)


@asynccontextmanager
async def connected() -> AsyncGenerator[tuple[Proxy, asyncio.StreamReader, asyncio.StreamWriter]]:
    """A way to a server that sends back what it gets, and a connection by it."""
    serving: list[asyncio.Task[None]] = []

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.append(cast("asyncio.Task[None]", asyncio.current_task()))
        with suppress(ConnectionResetError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()
        with suppress(ConnectionResetError):
            await writer.wait_closed()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    way = Proxy(f"postgresql://ada@127.0.0.1:{port}/one", CHANCE)
    await way.open()
    reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(way.dsn).port)
    try:
        yield way, reader, writer
    finally:
        writer.close()
        await way.close()
        server.close()
        await asyncio.wait_for(asyncio.gather(*serving), 10)


async def ended(reader: asyncio.StreamReader) -> bool:
    """Whether the connection ends, with an error or without."""
    with suppress(ConnectionResetError):
        return not await asyncio.wait_for(reader.read(), 10)
    return True


async def test_much_passes_in_order_both_ways() -> None:
    async with connected() as (way, reader, writer):
        sent = b"".join(number.to_bytes(4, "big") for number in range(500_000))
        writer.write(sent)
        assert await reader.readexactly(len(sent)) == sent
        way.loss = 0.5
        assert {way.pause(1400) for _ in range(20)} == {0.0, SENT_AGAIN}
        for number in range(8):
            writer.write(bytes([number]) * 9)
            assert await reader.readexactly(9) == bytes([number]) * 9


async def test_what_was_sent_while_the_network_was_cut_arrives_afterwards() -> None:
    async with connected() as (way, reader, writer):
        writer.write(b"before")
        assert await reader.readexactly(6) == b"before"
        way.cut()
        writer.write(b"meanwhile")
        await writer.drain()
        late = asyncio.ensure_future(reader.readexactly(9))
        done, _ = await asyncio.wait([late], timeout=0.1)
        assert not done
        way.heal()
        assert await asyncio.wait_for(late, 10) == b"meanwhile"


async def test_connections_end_when_it_leads_elsewhere_or_the_server_is_down() -> None:
    async with connected() as (way, reader, writer):
        writer.write(b"one")
        await reader.readexactly(3)
        way.lead_to("postgresql://ada@127.0.0.1:9/one")
        assert await ended(reader)
        reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(way.dsn).port)
        assert await ended(reader)
        writer.close()


async def test_the_server_sees_that_a_client_has_ended() -> None:
    gone = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        gone.set()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    way = Proxy(f"postgresql://ada@127.0.0.1:{server.sockets[0].getsockname()[1]}/one", CHANCE)
    await way.open()
    _, writer = await asyncio.open_connection("127.0.0.1", urlsplit(way.dsn).port)
    writer.write(b"once")
    await writer.drain()
    writer.close()
    await asyncio.wait_for(gone.wait(), 10)
    await way.close()
    server.close()
