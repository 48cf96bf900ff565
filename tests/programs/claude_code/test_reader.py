"""Claude Code transcripts: turns, compactions, side chains, and what the program wrote itself."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from sapwood.core.content import Note, Text, Thinking
from sapwood.core.turn import Reply, Result, Turn
from sapwood.programs.claude_code.reader import ClaudeReader
from sapwood.programs.claude_code.rows import ClaudeRow
from sapwood.programs.registry import resume_command_for
from sapwood.programs.transcripts.session_reader import read_session, read_subagents
from sapwood.programs.transcripts.turn_builder import GOES_ON
from sapwood.report.figures import session_figures
from sapwood.tokens.estimators import FeatureCounter
from tests.programs.transcripts.writing import ClaudeFile, text_block

FIXTURES = Path(__file__).parents[1] / "transcripts" / "fixtures"
AUTO = FIXTURES / "claude-auto-compact.jsonl"
MANUAL = FIXTURES / "claude-manual-compact.jsonl"


def test_a_good_row_is_decoded_in_one_typed_pass() -> None:
    decoder = msgspec.json.Decoder(ClaudeRow)
    for row in (*AUTO.read_bytes().splitlines(), *MANUAL.read_bytes().splitlines()):
        assert decoder.decode(row).type


def test_a_session_knows_where_it_ran_and_how_to_resume_it() -> None:
    session = read_session(AUTO)
    assert (session.source, session.folder) == ("claude-code", "/srv/wood")
    resume = resume_command_for(session.source, session.id)
    assert resume == "claude --resume 4cfa198d-2bff-4ecc-8825-6583da7ea71a"
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


def test_rows_of_one_message_are_one_reply(tmp_path: Path) -> None:
    file = ClaudeFile(tmp_path)
    file.user("Look at both.")
    file.says({"type": "thinking", "thinking": "Two files.", "signature": "c2ln"}, message="m1")
    file.says(file.call("1", command="cat a"), message="m1")
    file.result("1", "a")
    file.says(file.call("2", command="cat b"), message="m1")
    file.result("2", "b")
    file.says("Both are fine.")
    (turn,) = read_session(file.path).turns
    reply, first, second, last = turn.items
    assert isinstance(reply, Reply)
    assert isinstance(reply.parts[0], Thinking)
    assert [call.id for call in reply.calls] == ["1", "2"]
    assert isinstance(first, Result)
    assert isinstance(second, Result)
    assert (first.content, second.content) == ("a", "b")
    assert isinstance(last, Reply)
    assert turn.status == "completed"


def test_a_turn_without_an_end_is_open(tmp_path: Path) -> None:
    file = ClaudeFile(tmp_path)
    file.user("Build it.")
    file.says(file.call("1", command="make"))
    assert read_session(file.path).turns[-1].status == "open"


def test_an_interruption_ends_the_turn_and_is_no_prompt(tmp_path: Path) -> None:
    file = ClaudeFile(tmp_path)
    file.user("Build it.")
    file.says(file.call("1", command="make"))
    file.user([text_block("[Request interrupted by user for tool use]")])
    file.user("Only the docs.")
    file.says("Built.")
    first, second = read_session(file.path).turns
    assert (first.status, first.reason) == (
        "interrupted",
        "[Request interrupted by user for tool use]",
    )
    assert second.prompt == (Text("Only the docs."),)


def test_an_api_error_fails_the_turn(tmp_path: Path) -> None:
    file = ClaudeFile(tmp_path)
    file.user("Build it.")
    file.says("API Error: 529 overloaded", isApiErrorMessage=True)
    (turn,) = read_session(file.path).turns
    assert (turn.status, turn.reason) == ("failed", "API Error: 529 overloaded")


def test_what_the_program_ran_itself_goes_with_the_next_prompt_as_a_note(tmp_path: Path) -> None:
    file = ClaudeFile(tmp_path)
    file.user("<command-name>/status</command-name><command-args></command-args>")
    file.user("<local-command-stdout>All well.</local-command-stdout>")
    file.user("Go on.")
    file.says("Yes.")
    session = read_session(file.path)
    assert session.turns[0].prompt == (Note("program", "/status\nAll well."), Text("Go on."))
    assert session.request == "Go on."


def test_a_command_that_the_model_answers_is_a_request(tmp_path: Path) -> None:
    file = ClaudeFile(tmp_path)
    file.user("<command-name>/review</command-name><command-args>42</command-args>")
    file.user("Review the change, line by line.", isMeta=True)
    file.says("It is good.")
    session = read_session(file.path)
    assert session.request == "/review 42"
    assert session.turns[0].prompt[1] == Note("program", "Review the change, line by line.")


def test_what_is_queued_while_the_model_works_is_a_request(tmp_path: Path) -> None:
    file = ClaudeFile(tmp_path)
    file.user("Build it.")
    file.says(file.call("1", command="make"))
    file.result("1")
    file.row("attachment", attachment={"type": "queued_command", "prompt": "And test it."})
    file.says("Built and tested.")
    assert read_session(file.path).last_request == "And test it."


def test_lines_of_an_edit_are_counted_from_its_patch(tmp_path: Path) -> None:
    file = ClaudeFile(tmp_path)
    file.user("Change it.")
    file.says(file.call("1", "Edit", file_path="a.py"))
    patch = [{"lines": [" x", "-y", "+y2", "+z"]}]
    file.result("1", toolUseResult={"filePath": "a.py", "structuredPatch": patch})
    result = read_session(file.path).turns[0].items[1]
    assert isinstance(result, Result)
    assert (result.added, result.removed) == (2, 1)


def test_a_secret_in_a_result_is_masked(tmp_path: Path) -> None:
    file = ClaudeFile(tmp_path)
    file.user("Show the environment.")
    file.says(file.call("1", command="env"))
    file.result("1", "GITHUB_TOKEN=ghp_0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX")
    result = read_session(file.path).turns[0].items[1]
    assert isinstance(result, Result)
    assert "ghp_" not in result.content


def test_a_prompt_that_hangs_on_an_earlier_turn_is_a_rewind(tmp_path: Path) -> None:
    file = ClaudeFile(tmp_path)
    file.user("One.")
    kept = file.says("1")
    file.user("Two.")
    file.says("2")
    file.user("Three.", parentUuid=kept)
    file.says("3")
    session = read_session(file.path)
    assert session.abandoned == (1,)
    assert session.turns[2].parent == session.turns[0].ref
    assert [turn.first for turn in session.in_view] == [1, 3]


def test_side_chains_are_conversations_of_their_own(tmp_path: Path) -> None:
    file = ClaudeFile(tmp_path)
    file.user("Delegate it.")
    file.says(file.call("1", "Task", prompt="Search."))
    asked = file.user("Search.", isSidechain=True, parentUuid=None)
    file.says("Found it.", isSidechain=True, parentUuid=asked)
    file.result("1", "Found it.")
    file.says("Done.")
    assert len(read_session(file.path).turns) == 1
    (child,) = read_subagents(file.path)
    assert (child.parent, child.request) == ("5e55", "Search.")


def test_subagents_with_files_of_their_own_are_found(tmp_path: Path) -> None:
    file = ClaudeFile(tmp_path)
    file.user("Delegate it.")
    file.says("Done.")
    agent = ClaudeFile(tmp_path / "5e55" / "subagents", agent="af39")
    agent.user("Search.")
    agent.says("Found it.")
    (child,) = read_subagents(file.path)
    assert (child.id, child.parent, child.turns[0].status) == ("af39", "5e55", "completed")
    assert resume_command_for(child.source, child.parent) == "claude --resume 5e55"


def test_turns_that_a_compaction_left_whole_are_kept(tmp_path: Path) -> None:
    file = ClaudeFile(tmp_path)
    file.user("One.")
    file.says("1")
    kept = [file.user("Two."), file.says("2")]
    told = {"trigger": "manual", "preservedMessages": {"uuids": kept}}
    file.row("system", subtype="compact_boundary", compactMetadata=told, parentUuid=None)
    file.user("It was about numbers.", isCompactSummary=True)
    file.user("Three.")
    file.says("3")
    session = read_session(file.path)
    assert (session.boundaries[0].kept, session.boundaries[0].quoted) == (1, "")
    assert [turn.first for turn in session.in_view] == [2, 3]


def test_a_reply_that_a_compaction_kept_without_its_command_is_no_whole_turn(
    tmp_path: Path,
) -> None:
    file = ClaudeFile(tmp_path)
    file.user("One.")
    file.says("1")
    file.user("<command-message>review</command-message>\n<command-name>/review</command-name>")
    file.user("Review the heron.", isMeta=True)
    told = {"trigger": "manual", "preservedMessages": {"uuids": [file.says("reviewed")]}}
    file.row("system", subtype="compact_boundary", compactMetadata=told, parentUuid=None)
    file.user("It was about birds.", isCompactSummary=True)
    file.user("Three.")
    file.says("3")
    boundary = read_session(file.path).boundaries[0]
    assert (boundary.kept, boundary.quoted) == (0, "Assistant: reviewed")


def test_a_title_is_what_the_program_called_it(tmp_path: Path) -> None:
    file = ClaudeFile(tmp_path)
    file.user("Hello.")
    file.add({"type": "summary", "summary": "Greeting a tree", "leafUuid": file.last})
    assert read_session(file.path).title == "Greeting a tree"


def test_a_row_that_is_written_again_counts_once_and_another_under_its_id_is_kept(
    tmp_path: Path,
) -> None:
    file = ClaudeFile(tmp_path)
    file.user("One.")
    first = file.says("1")
    rows = file.path.read_bytes()
    file.raw(rows)
    file.says("Another.", uuid=first)
    (turn,) = read_session(file.path).turns
    assert turn.texts() == ["One.", "1", "Another."]


def test_a_compaction_drops_texts_that_wait_for_the_next_prompt(tmp_path: Path) -> None:
    for stays in (True, False):
        file = ClaudeFile(tmp_path / str(stays))
        file.user("Where do herons nest?")
        file.says("In tall trees.")
        file.user("<command-name>/context</command-name>")
        output = file.user("<local-command-stdout>half full</local-command-stdout>")
        rows = [output] if stays else []
        metadata = {"preservedMessages": {"anchorUuid": "b", "uuids": rows, "allUuids": rows}}
        file.row("system", subtype="compact_boundary", parentUuid=None, compactMetadata=metadata)
        file.user("Go on.")
        file.says("On it goes.")
        prompt = read_session(file.path).turns[-1].prompt
        assert any("half full" in part.text for part in prompt) == stays


def test_a_change_by_sapwood_is_no_compaction_and_lists_what_is_in_view(tmp_path: Path) -> None:
    file = ClaudeFile(tmp_path)
    turns = [[file.user("One."), file.says("Heron.")]]
    turns.append([file.user("Two."), file.says("Ibis.")])
    used = [file.user("Three."), file.says(file.call("c1")), file.result("c1"), file.says("Kite.")]

    def change(*rows: str) -> None:
        last = rows[-1]
        kept = {"uuids": rows, "anchorUuid": f"5e55-{file.rows}"}
        metadata = {"trigger": "manual", "preTokens": 0, "preservedMessages": kept}
        mark = {"parentUuid": None, "compactMetadata": metadata, "writtenBy": "sapwood"}
        file.row("system", subtype="compact_boundary", **mark)
        file.last = last

    def seen() -> tuple[list[int], int, int]:
        session = read_session(file.path)
        shown = [session.numbers[index] for index in session.indexes_in_view]
        figures = session_figures(session, FeatureCounter(), 0)
        return shown, len(session.turns), len(session.compactions) + figures.is_compacted

    change(*turns[0], *used)
    assert seen() == ([1, 3], 3, 0)
    turns.append([file.user("Four."), file.says("Lark.")])
    assert seen() == ([1, 3, 4], 4, 0)
    own: dict[str, Any] = {"writtenBy": "sapwood"}
    again = [file.user("Three.", parentUuid=None, **own), file.says(file.call("c1"), **own)]
    again += [file.result("c1", "[dropped]", **own), file.says("Kite.", **own)]
    change(*turns[0], *turns[1], *again, *turns[2])
    assert seen() == ([1, 2, 3, 4], 4, 0)
    change(*turns[1])
    assert seen() == ([2], 4, 0)
    told = {"trigger": "auto", "preTokens": 900, "postTokens": 100}
    file.row("system", subtype="compact_boundary", compactMetadata=told, parentUuid=None)
    file.user("A summary.", isCompactSummary=True)
    assert seen() == ([], 4, 2)
    change(*turns[1])
    assert seen() == ([2], 4, 1)


@pytest.mark.parametrize("place", ["before", "after"])
def test_the_id_inside_the_result_of_a_tool_is_not_that_of_its_row(place: str) -> None:
    own, nested = {"uuid": "own"}, {"mcpMeta": {"structuredContent": {"uuid": "item-7"}}}
    ordered = [nested, own] if place == "before" else [own, nested]
    row = {"type": "user"} | ordered[0] | ordered[1]
    reader = ClaudeReader()
    assert reader.has_key(msgspec.json.encode(row), 0, "own")
    assert not reader.has_key(msgspec.json.encode(row), 0, "item-7")


def test_the_turns_of_two_terminals_on_one_session_are_branches(tmp_path: Path) -> None:
    file = ClaudeFile(tmp_path)
    file.user("one")
    one = file.says("Done.")
    here = file.user("here")
    file.last = one
    there = file.user("there")
    file.last = here
    here = file.says("said here")
    file.last = there
    there = file.says("said there")
    file.last = here
    file.user("here again")
    file.says("said here again")
    session = read_session(file.path)
    assert [_words(turn) for turn in session.in_view] == [
        ["one", "Done."],
        ["here"],
        [GOES_ON.text, "said here"],
        ["here again", "said here again"],
    ]
    assert [GOES_ON.text, "said there"] in [_words(turn) for turn in session.turns]


def _words(turn: Turn) -> list[str]:
    replies = [item.parts for item in turn.items if isinstance(item, Reply)]
    said = [part.text for parts in replies for part in parts if isinstance(part, Text)]
    return [*(part.text for part in turn.prompt), *said]
