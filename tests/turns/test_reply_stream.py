"""Words of a reply that is still arriving: they are stored before they are shown, and kept."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, asynccontextmanager, nullcontext
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import TypeVar, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from sapwood.api import Agent, Sapwood
from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import Connection, connect
from sapwood.core.commands import CommandMeta, StreamReply
from sapwood.core.content import ReplyPart, Text
from sapwood.core.errors import LogUnavailable
from sapwood.core.events import (
    AgentKilled,
    Recorded,
    ReplyAdded,
    ReplyLost,
    ReplyStreamed,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
)
from sapwood.core.ids import AgentId, Space
from sapwood.core.live_words import AwaitWatcher
from sapwood.core.log_values import Commit, Receipt
from sapwood.core.model_calls import Answer, Delta, Failure, ToolSpec
from sapwood.core.view import Request
from sapwood.engine import LocalEngine
from sapwood.redaction import mask_secrets
from sapwood.testing import NoTools
from sapwood.turns.dispatch import Dispatcher, Done
from sapwood.turns.reply_stream import MaskedStream, ReplyStream

TOKEN = "ghp_0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"
T = TypeVar("T")
WORDS = ("Once upon ", "a time, there ", "was a tree. ")


class DictatedModel:
    """A model that says what the test dictates. None ends its answer."""

    def __init__(self) -> None:
        self.dictated: asyncio.Queue[str | Failure | None] = asyncio.Queue()
        self.calls = 0

    def say(self, *pieces: str | Failure | None) -> None:
        for piece in pieces:
            self.dictated.put_nowait(piece)

    async def stream(
        self,
        request: Request,
        tools: Sequence[ToolSpec] = (),
        *,
        params: Mapping[str, object] | None = None,
    ) -> AsyncGenerator[Delta | Answer]:
        self.calls += 1
        said = ""
        while (piece := await self.dictated.get()) is not None:
            if isinstance(piece, Failure):
                raise piece
            said += piece
            yield Delta("text", piece)
        yield Answer((Text(said),), request.model)

    def window_of(self, model: str) -> int | None:
        return None


class Stage(Struct):
    """A running agent in a file, so that a second process can open it too."""

    path: Path
    connection: Connection
    running: AgentRunner
    agent: Agent
    model: DictatedModel

    async def shown(self, words: str) -> None:
        """Waits until a screen shows these words of the reply."""
        seen = ""
        async with aclosing(self.running.watch(self.agent.id, 0)) as items:
            async for item in items:
                if isinstance(item.what, Delta):
                    seen += item.what.text
                    stored = await self.connection.log.words(self.connection.space, self.agent.id)
                    assert stored is not None
                    assert text_of(stored.parts).startswith(seen)
                if seen == words:
                    return

    async def until(self, kind: type) -> list[Recorded]:
        """Waits for an event of a kind; returns all events."""
        async with aclosing(self.running.watch(self.agent.id, 0)) as items:
            async for item in items:
                if isinstance(item.what, Recorded) and isinstance(item.what.event, kind):
                    return await self.agent.events()
        raise AssertionError

    async def all(self, kind: type[T]) -> list[T]:
        return [r.event for r in await self.agent.events() if isinstance(r.event, kind)]


def text_of(parts: tuple[ReplyPart, ...]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Text))


def files_of(folder: Path) -> list[Path]:
    return list(folder.iterdir())


@asynccontextmanager
async def stage(folder: Path) -> AsyncGenerator[Stage]:
    path = folder / "wood.db"
    connection, model = await connect(path), DictatedModel()
    running = AgentRunner(connection, LocalEngine(), model, NoTools())
    await running.start()
    try:
        async with asyncio.timeout(30):
            agent = await Sapwood(connection).start("tale", model="oak")
            await agent.run_command("Tell me a tale.")
            yield Stage(path, connection, running, agent, model)
    finally:
        await running.close()
        await connection.close()


async def test_a_word_is_stored_before_a_screen_shows_it(tmp_path: Path) -> None:
    async with stage(tmp_path) as at:
        at.model.say(*WORDS)
        await at.shown("".join(WORDS))


async def test_an_interrupt_from_another_process_keeps_what_was_shown(tmp_path: Path) -> None:
    async with stage(tmp_path) as at:
        at.model.say(*WORDS)
        await at.shown("".join(WORDS))
        other = await connect(at.path)
        await (await Sapwood(other).find("tale")).interrupt("enough")
        await other.close()
        events = await at.until(TurnInterrupted)
        reply = events[-2].event
        assert isinstance(reply, ReplyAdded)
        assert (text_of(reply.parts), reply.ended) == ("".join(WORDS), "cut")
        assert (await at.agent.request()).messages[1].text.startswith("".join(WORDS))


async def test_a_kill_from_another_process_keeps_what_was_shown(tmp_path: Path) -> None:
    async with stage(tmp_path) as at:
        at.model.say(*WORDS)
        await at.shown("".join(WORDS))
        other = await connect(at.path)
        await (await Sapwood(other).find("tale")).kill()
        await other.close()
        await at.until(AgentKilled)
        [kept] = await at.all(ReplyStreamed)
        assert text_of(kept.parts) == "".join(WORDS)
        assert await at.connection.log.words(at.connection.space, at.agent.id) is None


async def test_the_log_has_no_pieces_of_a_reply_that_is_complete(tmp_path: Path) -> None:
    async with stage(tmp_path) as at:
        at.model.say(*WORDS)
        await at.shown("".join(WORDS))
        at.model.say("The end.", None)
        events = await at.until(TurnCompleted)
        kinds = [recorded.kind for recorded in events]
        assert kinds[-3:] == ["model.called", "reply.added", "turn.completed"]
        assert await at.connection.log.words(at.connection.space, at.agent.id) is None


async def test_an_interrupt_in_this_process_keeps_also_an_unfinished_word(tmp_path: Path) -> None:
    async with stage(tmp_path) as at:
        at.model.say("Once upon a ti")
        await at.shown("Once upon a ")
        await at.running.interrupt(at.agent.id)
        events = await at.until(TurnInterrupted)
        assert isinstance(events[-2].event, ReplyAdded)
        assert text_of(events[-2].event.parts) == "Once upon a ti"


async def test_a_connection_that_breaks_keeps_what_was_shown(tmp_path: Path) -> None:
    async with stage(tmp_path) as at:
        at.model.say(*WORDS, "The e", Failure("cut", "The connection broke."))
        events = await at.until(TurnFailed)
        reply = events[-2].event
        assert isinstance(reply, ReplyAdded)
        assert text_of(reply.parts) == "".join(WORDS) + "The e"


async def test_a_turn_whose_process_ended_is_asked_again_with_a_word_about_it(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as at:
        at.model.say(*WORDS)
        await at.shown("".join(WORDS))
        await at.running.close()  # as when a person leaves, or a process is killed
        other = await connect(at.path)
        second = AgentRunner(other, LocalEngine(), at.model, NoTools())
        await second.start()
        await second.wake(at.agent.id)
        at.model.say("Well.", None)
        try:
            await at.until(ReplyLost)
            [lost] = await at.all(ReplyLost)
            assert text_of(lost.parts) == "".join(WORDS)
            assert lost.model == "oak"
            assert lost.tokens > 0
            await at.until(ReplyAdded)
            assert at.model.calls == 2
            assert await at.connection.log.words(at.connection.space, at.agent.id) is None
        finally:
            await second.close()
            await other.close()


async def test_a_screen_that_opens_in_the_middle_gets_the_words_so_far(tmp_path: Path) -> None:
    async with stage(tmp_path) as at:
        at.model.say(*WORDS)
        await at.shown("".join(WORDS))
        version = (await at.agent.state()).version
        async with aclosing(at.running.watch(at.agent.id, version)) as items:
            first = await anext(items)
            said = "".join(WORDS)
            assert first.what == Delta("text", said, version=version, size=len(said))


async def test_a_program_that_joins_the_deltas_gets_the_whole_answer_once(tmp_path: Path) -> None:
    async with stage(tmp_path) as at:
        at.model.say(*WORDS, "The end.", None)
        joined = ""
        async with aclosing(at.running.watch(at.agent.id, 0)) as items:
            async for item in items:
                if isinstance(item.what, Delta):
                    joined += item.what.text
                elif isinstance(item.what, Recorded) and isinstance(item.what.event, ReplyAdded):
                    break
        assert joined == "".join(WORDS) + "The end."


async def test_a_secret_that_arrives_in_pieces_is_stored_nowhere(tmp_path: Path) -> None:
    async with stage(tmp_path) as at:
        at.model.say("Use ", TOKEN[:9], TOKEN[9:20], TOKEN[20:], " for it. ")
        await at.shown("Use [secret: github-token …V1wX] for it. ")
        at.model.say(None)
        await at.until(ReplyAdded)
        await at.connection.close()
    stored = b"".join([path.read_bytes() for path in files_of(tmp_path)])
    assert TOKEN[4:16].encode() not in stored
    assert TOKEN[20:32].encode() not in stored


async def test_an_answer_is_stored_once_the_log_is_back_and_not_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sapwood.turns.driver._WATCH_AGAIN", 0.01)
    async with stage(tmp_path) as at:
        at.model.say(*WORDS)
        await at.shown("".join(WORDS))
        commit, cut = at.connection.log.commit, asyncio.Event()

        async def commit_and_lose_the_answer(space: Space, what: Commit) -> Receipt | None:
            await commit(space, what)
            if cut.is_set():
                return None
            cut.set()
            raise LogUnavailable("The database is not responding.")

        monkeypatch.setattr(at.connection.log, "commit", commit_and_lose_the_answer)
        at.model.say("The end.", None)
        await at.until(ReplyAdded)
        monkeypatch.setattr(at.connection.log, "commit", commit)
        assert cut.is_set()
        while (await at.agent.state()).open is not None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        events = await at.agent.events()
        assert at.model.calls == 1
        assert [e.kind for e in events].count("reply.added") == 1


async def test_words_that_nobody_watches_are_stored_less_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sapwood.turns.reply_stream.INTERVAL", 0.001)
    monkeypatch.setattr("sapwood.turns.reply_stream.UNWATCHED", 600.0)
    stored, watched = asyncio.Queue[str](), asyncio.Event()

    async def store(command: StreamReply, meta: CommandMeta) -> Done:
        stored.put_nowait(text_of(command.parts))
        return Done("")

    async def wait_for_watcher(seconds: float) -> bool:
        return await asyncio.wait_for(watched.wait(), seconds)

    def watched_words(space: str, agent: AgentId) -> AbstractContextManager[AwaitWatcher]:
        return nullcontext(wait_for_watcher)

    log = SimpleNamespace(watched_words=watched_words)
    given = SimpleNamespace(log=log, space="main", masked=str, dispatch=store)
    stream = ReplyStream(cast("Dispatcher", given), AgentId("ada"), 2, 3, "oak")
    async with asyncio.timeout(30):
        stream.add(Delta("text", "Once "))
        assert await stored.get() == "Once "
        stream.add(Delta("text", "upon "))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(stored.get(), 0.1)
        watched.set()
        assert await stored.get() == "upon "
        await stream.close()


@given(st.lists(st.text(alphabet="ab \n-", max_size=6), max_size=12), st.booleans())
def test_the_pieces_of_a_text_give_the_masked_text(around: list[str], secret: bool) -> None:
    pieces = [*around, " ", *TOKEN, " ", *around] if secret else around
    stream, shown = MaskedStream(mask_secrets), ""
    for piece in pieces:
        stream.add(piece)
        shown += stream.take()
    shown += stream.take(all_of_it=True)
    assert shown == mask_secrets("".join(pieces))


def shown_of(text: str, size: int, first: int = 0) -> str:
    """What is shown of a text that arrives in pieces of this size, after a first piece."""
    stream, shown = MaskedStream(mask_secrets), ""
    starts = [0, *range(first, len(text), size), len(text)]
    for start, end in pairwise(starts):
        stream.add(text[start:end])
        shown += stream.take()
    return shown + stream.take(all_of_it=True)


LINES = tuple(
    f"MIIE{i:02d}aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9fG1hJ3kL5mN7pQ{i}" for i in range(9)
)
PEM = "\n".join(("-----BEGIN RSA PRIVATE " + "KEY-----", *LINES, "-----END RSA PRIVATE KEY-----"))
KEYS = {
    "pem": PEM,
    "openssh": PEM.replace("RSA", "OPENSSH"),
    "pgp": PEM.replace("RSA", "PGP").replace("KEY-", "KEY BLOCK-"),
    "ssh2": PEM.replace("-----BEGIN RSA", "---- BEGIN SSH2")
    .replace("-----END RSA", "---- END SSH2")
    .replace("KEY-----", "KEY ----"),
    "commented": PEM.replace("\n", "\n# "),
    "quoted": PEM.replace("-----\n", '-----\\n" +\n"').replace("\nMIIE", '\\n" +\n"MIIE'),
    "putty": "\n".join(("Private-" + "Lines: 9", *LINES, "Private-MAC: " + "0a1b2c3d4e" * 4)),
    "json": '{\n"d": "' + LINES[0] + '",\n"e": "AQAB",\n"kty": "RSA"\n}',
    "nested json": '{\n"d": "' + LINES[0] + '",\n"ext": {"a": {}},\n"kty": "RSA"\n}',
    "xml": "<RSAKeyValue>\n<D>" + "\n".join(LINES) + "</D>\n</RSAKeyValue>",
    "in a fence": PEM.replace("-----BEGIN", "`-----BEGIN")
    .replace("KEY-----\nMIIE", "KEY-----`\n```\nMIIE")
    .replace("\n-----END", "\n```\n-----END"),
    "explained": PEM.replace("\nMIIE", " and its lines:" + " word" * 60 + "\nMIIE", 1),
}


@pytest.mark.parametrize("name", KEYS)
def test_no_line_of_a_key_is_shown_however_it_arrives(name: str) -> None:
    text = f"Here is the key:\n{KEYS[name]}\nKeep it safe.\n"
    whole = mask_secrets(text)
    for size in (1, 3, 8, 24, 64, 100):
        for first in range(0, size, 7):
            shown = shown_of(text, size, first)
            assert not [line for line in LINES if line in shown], (size, first)
            assert shown == whole or name in ("quoted", "explained")


HEADER = PEM.split("\n", 1)[0]
NAMED = {
    "plain": f"A PEM file begins with {HEADER} and then the base64 follows. ",
    "bold": f"It begins with **{HEADER}** and then the base64 follows. ",
    "command": f"Run `grep -r {HEADER} .` to find them. ",
    "left out": f"```\nkey: |\n  {HEADER}\n  ...\n```\n",
    "code": f"``{HEADER}`` ",
    "hash": '```json\n{"a": "x", "d": "' + "ab" * 32 + '",\n```\n',
    "putty": "The line `Private-" + "Lines: 14` says how many lines follow. ",
    "xml": "The element <RSAKeyValue> has the numbers. ",
}


@pytest.mark.parametrize("name", NAMED)
def test_a_text_that_names_the_start_of_a_key_is_shown_while_it_arrives(name: str) -> None:
    text = NAMED[name] + "The sum is " + "ab12" * 16 + " here, word after word. " * 30
    stream, shown = MaskedStream(mask_secrets), ""
    for start in range(0, len(text), 40):
        stream.add(text[start : start + 40])
        shown += stream.take()
    assert shown.count("word after word.") > 20
    assert shown + stream.take(all_of_it=True) == mask_secrets(text)


@pytest.mark.parametrize("size", [24, 80])
def test_no_line_of_a_key_is_shown_after_a_long_text(size: int) -> None:
    text = "A word or two.\n" * 1_200 + PEM + "\nKeep it safe.\n"
    assert shown_of(text, size) == mask_secrets(text)


@pytest.mark.parametrize("size", [1, 17, 500])
def test_the_end_of_a_long_token_is_not_shown(size: int) -> None:
    head = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"
    text = f"Authorization: Bearer {head}.{'aB3d' * 1_500}.{'cD4e' * 20} is the header.\n"
    assert shown_of(text, size) == mask_secrets(text)


@pytest.mark.parametrize("size", [17, 500])
def test_a_token_that_is_too_long_to_wait_for_shows_nothing_after_its_start(size: int) -> None:
    head = "Authorization: Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"
    text = f"{head}.{'aB3d' * 3_000}.{'cD4e' * 20} it is.\n"
    shown = shown_of(text, size)
    assert "cD4ecD4e" not in shown
    assert shown.endswith("] it is.\n")


def test_a_value_is_masked_whose_name_came_with_the_piece_before() -> None:
    named = "word " * 4_000 + "password = "
    text = named + '"hunter2-correct" ' + "word " * 10
    assert shown_of(text, len(text), len(named)) == mask_secrets(text)


def test_a_piece_of_a_long_text_takes_no_longer_than_that_of_a_short_one() -> None:
    masked: list[int] = []

    def mask(text: str) -> str:
        masked.append(len(text))
        return mask_secrets(text)

    for text in ("word " * 20_000, "x" * 100_000, PEM + " word" * 20_000, LINES[0] * 1_000):
        stream, shown = MaskedStream(mask), ""
        for start in range(0, len(text), 1_000):
            stream.add(text[start : start + 1_000])
            shown += stream.take()
        assert shown + stream.take(all_of_it=True) == mask_secrets(text)
    assert max(masked) < 70_000


def test_words_that_arrive_after_an_unfinished_key_was_stored_belong_to_it() -> None:
    half = len(PEM) // 2
    stream = MaskedStream(mask_secrets)
    stream.add(PEM[:half])
    shown = stream.take(all_of_it=True)
    stream.add(PEM[half:])
    shown += stream.take(all_of_it=True)
    assert not [line for line in LINES if line in shown]


async def test_an_interrupt_in_the_middle_of_a_key_stores_no_line_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sapwood.turns.reply_stream.FIRST", 0.0)
    monkeypatch.setattr("sapwood.turns.reply_stream.INTERVAL", 0.0)
    async with stage(tmp_path) as at:
        at.model.say("Here it is: ")
        await at.shown("Here it is: ")
        for start in range(0, len(PEM) // 2, 8):
            at.model.say(PEM[start : start + 8])
            while not at.model.dictated.empty():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await at.running.interrupt(at.agent.id)
        events = await at.until(TurnInterrupted)
        said = "".join(text_of(e.event.parts) for e in events if isinstance(e.event, ReplyAdded))
        await at.connection.close()
    assert said.startswith("Here it is: [secret: private-key]")
    stored = b"".join([path.read_bytes() for path in files_of(tmp_path)])
    assert not [line for line in LINES if line.encode() in stored]
