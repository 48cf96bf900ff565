"""Claude Code transcripts: turns, compactions, side chains, and what the program wrote itself."""

from pathlib import Path

import msgspec

from sapwood.core.content import Text
from sapwood.core.turn import Reply, Result
from sapwood.sources import read_session, resume_command
from sapwood.sources.claude.rows import Row

FIXTURES = Path(__file__).parent / "fixtures"
AUTO = FIXTURES / "claude-auto-compact.jsonl"
MANUAL = FIXTURES / "claude-manual-compact.jsonl"


def test_a_good_row_is_decoded_in_one_typed_pass() -> None:
    decoder = msgspec.json.Decoder(Row)
    for row in (*AUTO.read_bytes().splitlines(), *MANUAL.read_bytes().splitlines()):
        assert decoder.decode(row).type


def test_a_session_knows_where_it_ran_and_how_to_resume_it() -> None:
    session = read_session(AUTO)
    assert (session.source, session.folder) == ("claude-code", "/srv/wood")
    assert resume_command(session) == "claude --resume 4cfa198d-2bff-4ecc-8825-6583da7ea71a"
    assert (session.model, session.used) == ("claude-sonnet-4-5", 6001)


def test_prompts_replies_and_results_make_turns() -> None:
    (turn,) = read_session(MANUAL).turns
    assert [type(item) for item in turn.items] == [Reply, Result, Reply, Result, Reply]
    assert [call.name for call in turn.calls.values()] == ["Bash", "Read"]
    assert turn.status == "completed"


def test_a_compaction_inside_a_turn_ends_it_there_and_quotes_what_stayed() -> None:
    session = read_session(AUTO)
    (boundary,) = session.boundaries
    assert (boundary.after, boundary.trigger, boundary.kept) == (2, "auto", 0)
    assert (boundary.before_tokens, boundary.after_tokens) == (95028, 2707)
    assert "FAKE-SUMMARY" in boundary.summary
    assert boundary.quoted == 'Assistant: [Bash {"command":"echo two"}]\n\nResult: two'
    assert session.turns[1].status == "interrupted"
    assert [turn.first for turn in session.in_view] == [3, 4]


def test_what_goes_on_after_a_compaction_is_no_request() -> None:
    session = read_session(AUTO)
    assert not session.turns[2].is_request
    assert session.turns[3].prompt == (Text("third [[usage: 6000]] [[say: three]]"),)
    assert session.last_request.startswith("third")
