"""The events of rows are kept without the contents of files, which no row shows."""

import sapwood
from sapwood.conversation.timeline_reader import content_at, event_cache, read_timeline
from sapwood.core.content import File, RecordedReply, RecordedResult, Text, ToolCall
from sapwood.core.ids import AgentId
from sapwood.core.timeline.layout import lay_out
from sapwood.core.timeline.row_content import content_of

FILE = File.of(b"\x89PNG\r\n\x1a\n" + b"a heron" * 1000, name="heron.png")


async def test_rows_show_files_that_the_cache_does_not_contain() -> None:
    async with sapwood.open(":memory:") as db:
        agent = await db.start("demo")
        call = RecordedReply((ToolCall("c1", "look", "{}"), FILE))
        seen = RecordedResult("c1", "Seen.", files=(FILE,))
        await agent.record([Text("What is it?"), FILE], call, seen, "A heron.")
        log, space, id = db.connection.log, db.connection.space, AgentId(agent.id)
        read, loaded = event_cache(log, space), event_cache(log, space)
        rows = lay_out(await read_timeline(log, space, id, read))
        stored = {each.version: each for each in await agent.events()}
        expected = [content_of(row, lambda _, version: stored[version]) for row in rows]
        assert str(expected).count(FILE.text) == 3
        for cache in (read, loaded):
            assert [await content_at(row, cache) for row in rows] == expected
            kept = str([cache.event(id, version) for version in stored])
            assert "heron.png" in kept
            assert FILE.data not in kept
