"""Importing: once is enough, twice is harmless, and what grows is taken when it has ended."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest
from msgspec import structs

from sapwood.app.connection import Connection, connect
from sapwood.core.commands import Archive, Fork, Kill, SetMark, StartTurn
from sapwood.core.content import Text
from sapwood.core.events import ContextSummarized, Recorded, TurnRecorded
from sapwood.core.ids import AgentId
from sapwood.core.log_values import AgentSummary
from sapwood.core.refusals import Imported, Refusal
from sapwood.core.view.build import front_texts
from sapwood.imports.importer import Importer
from sapwood.programs.transcripts.discovery import NotATranscript
from sapwood.programs.transcripts.session_reader import detect_file, read_session
from sapwood.testing.claude_transcript import ClaudeTranscript
from sapwood.turns.clock_and_ids import command_meta, new_agent_id
from sapwood.turns.open_agent import SCHEMA, open_agent, open_state
from tests.programs.transcripts.writing import ClaudeFile, CodexFile, GeminiFile

FIXTURES = sorted(Path(__file__).parents[1].glob("programs/transcripts/fixtures/*.jsonl"))
NEVER = float("inf")


@pytest.fixture
async def held() -> AsyncIterator[Connection]:
    connection = await connect(":memory:")
    yield connection
    await connection.close()


@pytest.fixture
def importer(held: Connection) -> Importer:
    return Importer(held, idle_seconds=NEVER)


async def log_of(held: Connection, agent: AgentId) -> list[Recorded]:
    return await held.log.read(held.space, agent)


async def prompts(held: Connection, agent: AgentId) -> list[str]:
    """What was asked in every turn ever recorded."""
    events = [each.event for each in await log_of(held, agent)]
    return [event.prompt[-1].text for event in events if isinstance(event, TurnRecorded)]


async def summary(held: Connection, agent: AgentId) -> AgentSummary:
    found = await held.log.summary(held.space, agent)
    assert found is not None
    return found


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
async def test_an_imported_agent_sees_what_the_programs_model_sees(
    held: Connection, importer: Importer, path: Path
) -> None:
    done = await importer.bring(path)
    session = read_session(path)
    opened = await open_agent(held.log, held.space, done.agent)
    live, view = opened.live, session.in_view
    assert [turn.texts() for turn in live.turns] == [turn.texts() for turn in view]
    assert live.summary is not None
    assert live.summary.text.startswith(session.boundaries[-1].summary)
    assert session.boundaries[-1].quoted in live.summary.text
    assert done.turns == len(session.turns)


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
async def test_importing_again_adds_nothing(
    held: Connection, importer: Importer, path: Path
) -> None:
    done = await importer.bring(path)
    before = await log_of(held, done.agent)
    for again in (importer, Importer(held)):
        repeated = await again.bring(path)
        assert (repeated.turns, repeated.compactions, repeated.problem) == (0, 0, "")
    assert await log_of(held, done.agent) == before


async def test_an_agent_knows_where_it_comes_from(
    held: Connection, importer: Importer, tmp_path: Path
) -> None:
    file = ClaudeFile(tmp_path)
    file.user("Plant a tree.\nAn oak.")
    file.says("Planted.")
    done = await importer.bring(file.path)
    opened = await open_agent(held.log, held.space, done.agent)
    origin = opened.state.origin
    assert origin is not None
    assert (origin.source, origin.session, origin.path) == ("claude-code", "5e55", str(file.path))
    listed = await summary(held, done.agent)
    assert (listed.name, listed.folder, listed.source) == (
        "Plant a tree.",
        "/srv/wood",
        "claude-code",
    )


async def test_a_compaction_of_the_program_shows_what_it_kept_and_nothing_that_it_did_not(
    held: Connection, importer: Importer, tmp_path: Path
) -> None:
    file = ClaudeFile(tmp_path)
    file.user("Plant a tree.")
    reply = file.says("Planted.")
    kept = {"trigger": "manual", "preservedMessages": {"uuids": [reply]}}
    file.row("system", subtype="compact_boundary", compactMetadata=kept, parentUuid=None)
    file.user("A tree stands.", isCompactSummary=True)
    done = await importer.bring(file.path)
    file.user("Go on.")
    file.says("Watered.")
    await importer.bring(file.path)
    live = (await open_agent(held.log, held.space, done.agent)).live
    [front] = front_texts(live)
    assert "A tree stands." in front.text
    assert "Planted." in front.text
    assert "Plant a tree." not in front.text


async def test_a_turn_is_taken_when_it_has_ended_and_then_once(
    held: Connection, importer: Importer, tmp_path: Path
) -> None:
    file = ClaudeFile(tmp_path)
    file.user("One.")
    file.says(file.call("1"))
    done = await importer.bring(file.path)
    assert done.turns == 0
    file.result("1")
    file.says("Done.")
    file.user("Two.")
    done = await importer.bring(file.path)
    assert await prompts(held, done.agent) == ["One."]
    file.says("Done.")
    done = await importer.bring(file.path)
    assert await prompts(held, done.agent) == ["One.", "Two."]


async def test_every_growth_of_a_transcript_gives_the_log_of_the_whole(tmp_path: Path) -> None:
    for path in FIXTURES:
        rows = path.read_bytes().splitlines(keepends=True)
        growing = tmp_path / path.name
        held = await connect(":memory:")
        importer = Importer(held, idle_seconds=NEVER)
        source = detect_file(path)
        for end in range(1, len(rows) + 1):
            growing.write_bytes(b"".join(rows[:end]))
            await importer.bring(growing, source)
        whole = await connect(":memory:")
        same = await Importer(whole).bring(path)
        grown = await open_agent(held.log, held.space, same.agent)
        once = await open_agent(whole.log, whole.space, same.agent)
        assert [t.texts() for t in grown.live.turns] == [t.texts() for t in once.live.turns]
        assert _unfenced(grown.live.summary) == _unfenced(once.live.summary)


async def test_a_transcript_that_nobody_writes_to_has_ended(
    held: Connection, tmp_path: Path
) -> None:
    file = ClaudeFile(tmp_path)
    file.user("One.")
    file.says(file.call("1"))
    done = await Importer(held, idle_seconds=-1).bring(file.path)
    last = (await log_of(held, done.agent))[-1].event
    assert isinstance(last, TurnRecorded)
    assert (last.status, last.reason) == ("interrupted", "The transcript ends here.")


async def test_what_follows_on_a_turn_that_was_cut_off_is_kept(
    held: Connection, importer: Importer, tmp_path: Path
) -> None:
    file = ClaudeFile(tmp_path)
    file.user("One.")
    file.says(file.call("1"))
    done = await Importer(held, idle_seconds=-1).bring(file.path)
    file.result("1", "late")
    file.says("Done at last.")
    for again in (importer, Importer(held, idle_seconds=-1)):
        await again.bring(file.path)
    words = [
        text
        for each in await log_of(held, done.agent)
        if isinstance(each.event, TurnRecorded)
        for text in _texts(each.event)
    ]
    assert words.count("late") == words.count("Done at last.") == 1


def _texts(event: TurnRecorded) -> list[str]:
    from sapwood.core.turn import recorded_turn

    return recorded_turn(AgentId("x"), 1, event).texts()


async def test_several_at_once_are_harmless(tmp_path: Path) -> None:
    file = ClaudeFile(tmp_path)
    for number in range(40):
        file.user(f"Ask {number}.")
        file.says(f"Answer {number}.")
    address = tmp_path / "log.db"
    connections = [await connect(address) for _ in range(3)]
    done = await asyncio.gather(*(Importer(each).bring(file.path) for each in connections))
    asked = await prompts(connections[0], done[0].agent)
    assert asked == [f"Ask {number}." for number in range(40)]
    for each in connections:
        await each.close()


async def test_a_rewind_moves_the_context_as_it_did_there(
    held: Connection, importer: Importer, tmp_path: Path
) -> None:
    file = ClaudeFile(tmp_path)
    file.user("One.")
    kept = file.says("1")
    file.user("Two.")
    file.says("2")
    await importer.bring(file.path)
    file.user("Three.", parentUuid=kept)
    file.says("3")
    done = await importer.bring(file.path)
    opened = await open_agent(held.log, held.space, done.agent)
    assert [turn.prompt[-1].text for turn in opened.live.turns] == ["One.", "Three."]
    assert await prompts(held, done.agent) == ["One.", "Two.", "Three."]
    assert (await importer.bring(file.path)).turns == 0


async def test_subagents_become_children(
    held: Connection, importer: Importer, tmp_path: Path
) -> None:
    file = ClaudeFile(tmp_path)
    file.user("Delegate it.")
    asked = file.user("Search.", isSidechain=True, parentUuid=None, agentId="af39")
    file.says("Found it.", isSidechain=True, parentUuid=asked, agentId="af39")
    file.says("Done.")
    done = await importer.bring(file.path)
    assert (await importer.bring(file.path)).turns == 0
    assert done.subagents == 1
    (child,) = await held.log.descendants(held.space, done.agent)
    assert await prompts(held, child) == ["Search."]


async def test_a_compaction_that_keeps_its_summary_to_itself_gets_one_from_the_log(
    held: Connection, importer: Importer, tmp_path: Path
) -> None:
    file = CodexFile(tmp_path)
    file.user("Test it.")
    file.call("1", "shell", command="just test")
    file.result("1", "Process exited with code 2\nOutput:\nred")
    file.says("Red.")
    file.row("compacted", message="", replacement_history=[])
    file.user("Mend it.")
    file.says("Green.")
    done = await importer.bring(file.path)
    opened = await open_agent(held.log, held.space, done.agent)
    assert opened.live.summary is not None
    assert "just test" in opened.live.summary.ledger


async def test_a_gemini_chat_of_an_older_version_is_imported_once(
    held: Connection, importer: Importer, tmp_path: Path
) -> None:
    import json

    file = GeminiFile(tmp_path)
    file.message("u1", "user", "Ask 1.")
    file.message("g1", "gemini", "Answer 1.")
    meta, *messages = [json.loads(line) for line in file.path.read_text().splitlines()]
    old = tmp_path / "session-old.json"
    old.write_text(json.dumps(meta | {"messages": messages}, indent=2))
    done = await importer.bring(old)
    assert (done.turns, (await importer.bring(old)).turns) == (1, 0)


async def test_a_rewritten_transcript_adds_only_what_is_new(
    held: Connection, importer: Importer, tmp_path: Path
) -> None:
    file = ClaudeFile(tmp_path)
    for number in range(3):
        file.user(f"Ask {number}.")
        file.says(f"Answer {number}.")
    done = await importer.bring(file.path)
    rows = file.path.read_bytes().splitlines(keepends=True)
    file.path.write_bytes(b"".join(rows[2:4]))
    file.user("Ask 3.", parentUuid=None)
    file.says("Answer 3.")
    await importer.bring(file.path)
    assert await prompts(held, done.agent) == ["Ask 0.", "Ask 1.", "Ask 2.", "Ask 3."]


async def test_its_own_program_alone_goes_on_with_it(
    held: Connection, importer: Importer, tmp_path: Path
) -> None:
    file = ClaudeFile(tmp_path)
    file.user("One.")
    file.says("1")
    agent = (await importer.bring(file.path)).agent
    refused = await held.dispatcher.dispatch(StartTurn(agent, (Text("Two."),)), command_meta())
    assert isinstance(refused, Imported)
    assert f"sapwood fork {agent}" in refused.sentence
    child = new_agent_id()
    assert not isinstance(
        await held.dispatcher.dispatch(Fork(agent, child), command_meta()), Refusal
    )
    started = await held.dispatcher.dispatch(StartTurn(child, (Text("Two."),)), command_meta())
    assert not isinstance(started, Refusal)
    opened = await open_agent(held.log, held.space, child)
    assert [turn.prompt[-1].text for turn in opened.live.all_turns] == ["One.", "Two."]
    assert opened.state.origin is None
    assert opened.state.settings.cap > 0


async def test_marks_and_the_like_of_people_do_not_hinder(
    held: Connection, importer: Importer, tmp_path: Path
) -> None:
    file = ClaudeFile(tmp_path)
    file.user("One.")
    file.says("1")
    agent = (await importer.bring(file.path)).agent
    await held.dispatcher.dispatch(SetMark(agent, "HERE"), command_meta())
    file.user("Two.")
    file.says("2")
    assert (await importer.bring(file.path)).turns == 1


async def test_an_archived_one_grows_with_its_program_and_a_killed_one_says_why_not(
    held: Connection, importer: Importer, tmp_path: Path
) -> None:
    file = ClaudeFile(tmp_path)
    file.user("One.")
    file.says("1")
    agent = (await importer.bring(file.path)).agent
    await held.dispatcher.dispatch(Archive(agent), command_meta())
    file.user("Two.")
    file.says("2")
    done = await importer.bring(file.path)
    assert (done.turns, done.problem) == (1, "")
    state = (await held.dispatcher.open(agent)).state
    assert state.status == "archived"
    await held.dispatcher.dispatch(Kill(agent), command_meta())
    file.user("Three.")
    file.says("3")
    assert "is killed" in (await importer.bring(file.path)).problem


async def test_another_file_is_refused(importer: Importer, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Oaks.")
    with pytest.raises(NotATranscript):
        await importer.bring(tmp_path / "notes.txt")


@pytest.mark.parametrize("source", ["claude-code", "codex", "gemini", "opencode", "pi"])
async def test_a_transcript_that_is_gone_is_refused(
    importer: Importer, tmp_path: Path, source: str
) -> None:
    with pytest.raises(NotATranscript, match="cannot be read"):
        await importer.bring(tmp_path / "gone.jsonl", source)


def _unfenced(summary: ContextSummarized | None) -> ContextSummarized | None:
    """The summary without its random mark."""
    return summary and structs.replace(summary, fence="")


async def test_secrets_and_configured_keys_are_masked_everywhere(tmp_path: Path) -> None:
    token = "gh" + "p_" + "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"
    held = await connect(":memory:", secrets=("woodwoodwood",))
    secrets = f"{token} and woodwoodwood"
    file = ClaudeTranscript(tmp_path / "3f2b8c1e-9d04-4a75-8f0c-8a7d3b1e9f24.jsonl")
    file.ask(f"Use {secrets}.").call("Bash", {"command": f"echo {secrets}"}, f"it is {secrets}")
    file.say(f"I used {secrets}.")
    done = await Importer(held).bring(file.path)
    stored = repr(await log_of(held, done.agent))
    assert token not in stored
    assert "woodwoodwood" not in stored
    assert stored.count("[secret: known-key]") == 4
    assert stored.count("[secret: github-token") == 5  # also in the name
    await held.close()


_TOKEN = "gh" + "p_" + "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"
_SECRETS = f"{_TOKEN} and woodwoodwood"


def _claude(folder: Path) -> Path:
    file = ClaudeFile(folder)
    first = file.user(f"Use {_SECRETS}.")
    file.says(file.call("c1", command=f"echo {_SECRETS}"))
    quoted = file.result("c1", f"it is {_SECRETS}")
    file.says(f"I used {_SECRETS}.")
    kept = {"trigger": "manual", "preservedMessages": {"uuids": [first, quoted]}}
    file.row("system", subtype="compact_boundary", compactMetadata=kept, parentUuid=None)
    file.user(f"Summary: {_SECRETS}", isCompactSummary=True)
    file.user("Go on.")
    file.says("Gone.")
    return file.path


def _codex(folder: Path) -> Path:
    file = CodexFile(folder)
    file.user(f"Use {_SECRETS}.")
    file.call("c1", command=f"echo {_SECRETS}")
    file.result("c1", f"it is {_SECRETS}")
    file.says(f"I used {_SECRETS}.")
    file.event("task_complete")
    return file.path


def _gemini(folder: Path) -> Path:
    file = GeminiFile(folder)
    file.message("m1", "user", f"Use {_SECRETS}.")
    response = {"functionResponse": {"response": {"output": f"it is {_SECRETS}"}}}
    call = {"id": "c1", "name": "run", "args": {"command": _SECRETS}, "result": [response]}
    file.message("g1", "gemini", f"I used {_SECRETS}.", toolCalls=[call])
    kept = [
        {"id": "s1", "type": "user", "content": [{"text": f"Summary: {_SECRETS}"}]},
        {"id": "k1", "type": "user", "content": [{"text": f"Keep {_SECRETS}"}]},
    ]
    file.set(messages=kept)
    file.message("m2", "user", "Go on.")
    file.message("g2", "gemini", "Gone.")
    return file.path


def _bytes_of(folder: Path, pattern: str) -> bytes:
    return b"".join(path.read_bytes() for path in folder.glob(pattern))


@pytest.mark.parametrize("write", [_claude, _codex, _gemini])
async def test_no_byte_of_a_database_has_an_imported_secret(
    tmp_path: Path, write: Callable[[Path], Path]
) -> None:
    database = tmp_path / "wood.db"
    held = await connect(database, secrets=("woodwoodwood",))
    done = await Importer(held, idle_seconds=0, now=lambda: NEVER).bring(write(tmp_path))
    stored = repr(await log_of(held, done.agent))
    await held.close()
    assert "it is [secret: github-token" in stored
    files = _bytes_of(tmp_path, "wood.db*")
    assert b"secret: known-key" in files
    assert _TOKEN.encode() not in files
    assert b"woodwoodwood" not in files


@pytest.mark.parametrize("write", [_claude, _codex, _gemini])
async def test_a_tool_result_is_masked_once(
    tmp_path: Path, write: Callable[[Path], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    masked: list[str] = []

    def mask(text: str, known: Sequence[str], *, only: object) -> str:
        masked.append(text)
        return text

    monkeypatch.setattr("sapwood.redaction.masks.mask_secrets", mask)
    held = await connect(":memory:")
    await Importer(held, idle_seconds=0, now=lambda: NEVER).bring(write(tmp_path))
    await held.close()
    assert masked.count(f"it is {_SECRETS}") == 1


async def test_a_long_session_is_opened_from_a_snapshot_after_its_import(
    held: Connection, importer: Importer, tmp_path: Path
) -> None:
    short, long = ClaudeFile(tmp_path, "5a0b"), ClaudeFile(tmp_path, "5a0c")
    for file, count in ((short, 3), (long, 40)):
        for number in range(count):
            file.user(f"Do {number}.")
            file.says(f"Done {number}.")
    agents = [(await importer.bring(file.path)).agent for file in (short, long)]
    found = [await held.log.snapshot(held.space, agent, SCHEMA, None) for agent in agents]
    assert found[0] is None
    assert found[1] is not None
    assert found[1].version == (await open_state(held.log, held.space, agents[1])).version


async def test_with_the_dispatcher_of_the_space_turns_are_counted_for_their_model(
    held: Connection, tmp_path: Path
) -> None:
    file = ClaudeFile(tmp_path)
    file.user("Do it.")
    file.says("Done.")
    done = await Importer(held, idle_seconds=-1, dispatcher=held.dispatcher).bring(file.path)
    opened = await held.dispatcher.last_seen(done.agent)
    assert opened.live.weight is not None
    assert opened.live.weight.counter == held.counter_for(opened.state.settings.model).name
