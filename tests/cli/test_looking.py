"""Looking at agents: lists, conversations, events, budgets, searches, replays, differences."""

import json
import resource
import sqlite3
import stat
from pathlib import Path

import pytest

from sapwood import RecordedReply, RecordedResult, ToolCall, Usage
from sapwood.api import Sapwood
from sapwood.cli.console import write_output
from sapwood.cli.exit_codes import Exit
from tests.cli.calling import Database, Sapwooder


def test_without_agents_the_list_says_what_to_type(sapwood: Sapwooder) -> None:
    ran = sapwood("agents")
    assert (ran.code, ran.out) == (0, "")
    assert 'sapwood run -p "Hello!"' in ran.err


def test_children_stand_below_their_parents(sapwood: Sapwooder, database: Database) -> None:
    async def family(db: Sapwood) -> None:
        parent = await db.start("lead", id="lead1")
        await parent.fork(name="child")
        await db.start("other", id="zzz")

    database(family)
    first, second, third, fourth = sapwood("agents").out.splitlines()
    assert first.split()[:2] == ["AGENT", "NAME"]
    assert second.startswith("zzz")
    assert third.startswith("lead1")
    assert fourth.startswith("  ")
    assert "child" in fourth


def test_killed_agents_are_shown_on_demand(sapwood: Sapwooder, demo: str) -> None:
    assert sapwood("kill", demo).out == "Killed abc123.\n"
    assert sapwood("agents").out == ""
    assert "killed" in sapwood("agents", "--all").out


def test_a_long_list_says_that_it_goes_on(sapwood: Sapwooder, database: Database) -> None:
    async def start(db: Sapwood) -> None:
        for _ in range(3):
            await db.start()

    database(start)
    ran = sapwood("agents", "-n", "2")
    assert len(ran.out.splitlines()) == 3
    assert "sapwood agents -n 20" in ran.err


def test_agents_as_json_have_the_fields_of_the_reference(sapwood: Sapwooder, demo: str) -> None:
    summary = json.loads(sapwood("agents", "--json").out)
    assert summary["agent"] == "abc123"
    assert summary["name"] == "demo"
    assert summary["model"] == "gpt-5"


def test_lists_are_readable_at_forty_columns(
    sapwood: Sapwooder, demo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    for command in (["agents"], ["log", demo], ["context", demo], ["show", demo], ["config"]):
        printed = sapwood(*command).out
        assert printed
        assert max(map(len, printed.splitlines())) <= 40, command


def test_a_conversation_is_shown_as_the_model_sees_it(sapwood: Sapwooder, demo: str) -> None:
    sapwood("do", demo, "/clear 1")
    shown = sapwood("show", demo).out
    assert "And storks?" in shown
    assert "On roofs." in shown
    assert "Where do herons nest?" not in shown
    assert "out of view" in shown


def test_one_turn_is_shown_in_view_or_not(sapwood: Sapwooder, demo: str) -> None:
    sapwood("do", demo, "/clear 1")
    shown = sapwood("show", f"{demo}/1").out
    assert "Where do herons nest?" in shown
    assert "And storks?" not in shown
    assert "And storks?" in sapwood("show", f"{demo}/1-2").out
    turn = json.loads(sapwood("show", f"{demo}/2", "--json").out)
    assert turn["prompt"][0]["text"] == "And storks?"
    missing = sapwood("show", f"{demo}/99")
    assert missing.code == 1
    assert "99" in missing.err


def test_one_event_is_shown_whole(sapwood: Sapwooder, demo: str) -> None:
    event = json.loads(sapwood("show", "abc123:2").out)
    assert event["kind"] == "turn.started"
    assert event["data"]["prompt"][0]["text"] == "Where do herons nest?"


def test_an_event_that_is_not_there_names_the_last(sapwood: Sapwooder, demo: str) -> None:
    ran = sapwood("show", "abc123:99")
    assert ran.code == 1
    assert "abc123's log ends at version 8." in ran.err


def test_long_results_are_cut_unless_asked_for(sapwood: Sapwooder, database: Database) -> None:
    async def work(db: Sapwood) -> None:
        agent = await db.start("worker")
        lines = "\n".join(f"line {number}" for number in range(50))
        ask = RecordedReply((ToolCall("1", "shell", '{"command": "ls"}'),))
        await agent.record("List them.", ask, RecordedResult("1", lines), "Done.")

    database(work)
    assert "… 42 more lines" in sapwood("show", "worker").out
    assert "line 49" in sapwood("show", "worker", "--whole").out


def test_control_characters_never_reach_the_terminal(
    sapwood: Sapwooder, database: Database
) -> None:
    async def trick(db: Sapwood) -> None:
        agent = await db.start("sly\x1b[31m", id="sly")
        await agent.record("\x1b]0;title\x07Hello\x1b[2J", "\x9bred")

    database(trick)
    for command in (["agents"], ["log", "sly"], ["show", "sly"], ["export", "sly"]):
        printed = sapwood(*command).out
        assert not any(char in printed for char in "\x1b\x07\x9b"), command


def test_nothing_that_was_sent_is_hidden_from_an_audit(
    sapwood: Sapwooder, database: Database
) -> None:
    async def trick(db: Sapwood) -> None:
        agent = await db.start("sly", id="sly")
        call = ToolCall("1", "shell", '{"command": "git status\\u001b]\\ntouch x"}')
        raw = ToolCall("2", "shell", '{"command": "ls\x1b]\u202etouch y"}')
        await agent.record(
            "Hello\x1b]unseen prompt",
            RecordedReply((call, raw)),
            RecordedResult("1", "\x1b[32mgreen\x1b[0m\x1b]unseen result"),
            RecordedResult("2", "ok"),
            "Done\u200b\x1b]unseen reply\x07",
        )

    database(trick)
    for command in (["show", "sly", "--whole"], ["export", "sly"]):
        printed = sapwood(*command).out
        assert "Hello␛]unseen prompt" in printed, command
        assert "green␛]unseen result" in printed, command
        assert r"Done\u200b␛]unseen reply␇" in printed, command
        assert "touch x" in printed, command
        assert r"\u202etouch y" in printed, command
        assert "\x1b" not in printed, command
    assert "Hello␛]unseen prompt" in sapwood("log", "sly").out


def test_the_log_shows_every_event(sapwood: Sapwooder, demo: str) -> None:
    lines = sapwood("log", demo).out.splitlines()
    assert len(lines) == 8
    assert "agent.started" in lines[0]
    assert "Where do herons nest?" in lines[1]


def test_the_log_can_be_narrowed(sapwood: Sapwooder, demo: str) -> None:
    assert len(sapwood("log", demo, "-n", "2").out.splitlines()) == 2
    (only,) = sapwood("log", demo, "--kind", "mark.set").out.splitlines()
    assert "START" in only
    last = sapwood("log", demo, "--kind", "turn.completed", "-n", "1", "--json").out
    assert json.loads(last)["kind"] == "turn.completed"


def test_the_log_tells_what_each_call_and_each_turn_cost(
    sapwood: Sapwooder, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def spend(db: Sapwood) -> None:
        agent = await db.start("demo", model="claude-sonnet-5-5")
        async with agent.turn("How cold is it?") as turn:
            asked = ToolCall("1", "weather")
            await turn.reply(calls=[asked], usage=Usage(input=1_000, output=10, cost=100_000))
            await turn.result("1", "-3 degrees")
            await turn.reply(
                "Cold." * 50, usage=Usage(input=1_000, output=20, cache_read=500, cost=200_000)
            )

    database(spend)
    monkeypatch.setenv("COLUMNS", "140")
    lines = sapwood("log", "demo").out.splitlines()
    assert lines[2].endswith("weather {} (1,000 tokens in (0 % cached), 10 out, $0.10)")
    assert lines[4].endswith("(1,000 tokens in (50 % cached), 20 out, $0.20)")
    assert lines[5].endswith("(2,000 tokens in (25 % cached), 30 out, $0.30)")
    (end,) = sapwood("log", "demo", "--kind", "turn.completed").out.splitlines()
    assert end == lines[5]
    (unseen,) = sapwood("log", "demo", "-n", "1").out.splitlines()
    assert "$" not in unseen
    monkeypatch.setenv("COLUMNS", "80")
    narrow = sapwood("log", "demo").out.splitlines()
    assert narrow[4].endswith("… ($0.20)")
    assert max(map(len, narrow)) <= 80


def test_the_context_is_told_by_block(
    sapwood: Sapwooder, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def spend(db: Sapwood) -> None:
        agent = await db.start("demo", model="claude-sonnet-5-5", system="Be brief.", cap=5_000)
        usage = Usage(input=2_000, output=100, cache_read=1_500, cost=420_000)
        async with agent.turn("Hello!") as turn:
            await turn.call(tools=[{"name": "read", "description": "Reads a file. " * 100}])
            await turn.reply("Hello to you.", usage=usage)
        await agent.mark("START")
        await agent.configure(window=200_000)

    database(spend)
    told = sapwood("context", "demo").out
    assert "system" in told
    [tools] = [line for line in told.splitlines() if line.startswith("tools")]
    assert tools.split()[1].startswith("~")
    assert "~" in told
    assert "of 200k" in told
    assert "5,000 tokens of history" in told
    used = "2,000 tokens in (75 % cached), 100 out, $0.42"
    assert [line.split(maxsplit=1) for line in told.splitlines() if used in line] == [
        ["spent", used],
        ["turn", used],
        ["call", used],
    ]
    monkeypatch.setenv("COLUMNS", "30")
    assert "$0.42, 2,000 in" in sapwood("context", "demo").out
    assert "START" in told


def test_tools_are_not_told_before_a_model_was_called(
    sapwood: Sapwooder, database: Database
) -> None:
    async def start(db: Sapwood) -> None:
        await db.start("fresh", model="claude-sonnet-5-5", system="Be brief.")

    database(start)
    blocks = [line.split()[0] for line in sapwood("context", "fresh").out.splitlines()[2:6]]
    assert blocks == ["system", "pins", "summary", "history"]


def test_the_context_as_json_tells_exact_from_estimated(sapwood: Sapwooder, demo: str) -> None:
    told = json.loads(sapwood("context", demo, "--json").out)
    assert told["turns"] == 2
    assert told["pins"] == ["style"]
    assert told["blocks"]["history"]["tokens"] > 0
    assert told["blocks"]["history"]["exact"] in (True, False)
    blocks = dict(told["blocks"])
    total = blocks.pop("total")
    assert total["tokens"] == sum(block["tokens"] for block in blocks.values())
    assert set(blocks) == {"system", "tools", "pins", "summary", "history"}


def test_everything_ever_said_is_found(sapwood: Sapwooder, demo: str) -> None:
    sapwood("do", demo, "/clear")
    ran = sapwood("search", "herons", "nest")
    assert ran.code == 0
    assert "demo/1 " in ran.out
    assert "Where do herons nest?" in ran.out


def test_a_search_without_a_hit_ends_with_1(sapwood: Sapwooder, demo: str) -> None:
    ran = sapwood("search", "flamingo")
    assert (ran.code, ran.out) == (1, "")


def test_a_call_is_replayed_and_checked(sapwood: Sapwooder, demo: str) -> None:
    ran = sapwood("replay", demo)
    assert ran.code == 0
    assert "Where do herons nest?" in ran.out
    assert "the hash matches" in ran.out
    assert "model.called" in sapwood("replay", demo, "--calls").out
    assert json.loads(sapwood("replay", demo, "3", "--json").out)["matches"] is True


def test_a_log_that_was_tampered_with_does_not_match(
    sapwood: Sapwooder, demo: str, home: Path
) -> None:
    file = sqlite3.connect(home / ".local/share/sapwood/sapwood.db")
    (sql,) = file.execute("SELECT sql FROM sqlite_master WHERE name = 'events'").fetchone()
    triggers = file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for (name,) in triggers:
        file.execute(f"DROP TRIGGER {name}")
    column = "data" if "data" in sql else "event"
    file.execute(
        f"UPDATE events SET {column} = replace({column}, 'herons', 'eagles') WHERE version = 2"
    )
    file.commit()
    file.close()
    ran = sapwood("replay", demo)
    assert ran.code == 1
    assert "eagles" in ran.out
    assert "DOES NOT MATCH" in ran.out


def test_what_is_no_call_cannot_be_replayed(sapwood: Sapwooder, demo: str) -> None:
    ran = sapwood("replay", demo, "2")
    assert ran.code == 1
    assert "sapwood replay abc123 --calls" in ran.err


def test_contexts_are_compared(sapwood: Sapwooder, demo: str) -> None:
    ran = sapwood("diff", demo, "START")
    assert ran.code == 1
    assert ran.out.splitlines() == ["+ #2 And storks?", "1 turn in both."]
    same = sapwood("diff", demo, "START", "2")
    assert same.code == 0
    assert "look the same to the model" in same.out


def test_an_unknown_mark_is_refused_with_the_nearest(sapwood: Sapwooder, demo: str) -> None:
    ran = sapwood("diff", demo, "STRAT")
    assert ran.code == 1
    assert "Did you mean START?" in ran.err


def test_a_conversation_is_exported_as_markdown(sapwood: Sapwooder, demo: str) -> None:
    text = sapwood("export", demo).out
    assert text.startswith("# demo\n")
    assert "## You (#1)\n\nWhere do herons nest?\n" in text
    assert "\n\n\n" not in text


def test_an_export_can_hold_what_is_out_of_view(sapwood: Sapwooder, demo: str, home: Path) -> None:
    sapwood("do", demo, "/clear")
    assert "herons" not in sapwood("export", demo).out
    assert sapwood("export", demo, "--everything", "-o", "demo.md").out == ""
    assert "herons" in (home / "project" / "demo.md").read_text()


def test_an_export_as_json_is_the_whole_log(sapwood: Sapwooder, demo: str) -> None:
    lines = sapwood("export", demo, "--format", "json").out.splitlines()
    assert [json.loads(line)["version"] for line in lines] == list(range(1, 9))


def test_a_fence_in_a_result_does_not_break_the_export(
    sapwood: Sapwooder, database: Database
) -> None:
    async def work(db: Sapwood) -> None:
        agent = await db.start("fenced")
        ask = RecordedReply((ToolCall("1", "read_file", '{"path": "a.md"}'),))
        await agent.record("Read it.", ask, RecordedResult("1", "```\ncode\n```"), "Done.")

    database(work)
    assert "````\n```\ncode\n```\n````" in sapwood("export", "fenced").out


def test_an_agent_is_found_by_the_start_of_its_id(sapwood: Sapwooder, demo: str) -> None:
    assert sapwood("log", "abc").code == 0


def test_an_unknown_agent_is_refused_with_the_nearest_names(sapwood: Sapwooder, demo: str) -> None:
    ran = sapwood("log", "dmeo")
    assert ran.code == 1
    assert "There is no agent 'dmeo'. Did you mean demo?" in ran.err


def test_an_export_that_does_not_fit_on_the_disk_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "out.md"
    file.write_text("old " * 10_000, encoding="utf-8")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8_192, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_output(str(file), "new " * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert file.read_text(encoding="utf-8") == "old " * 10_000
    assert list(tmp_path.iterdir()) == [file]


def test_an_export_is_for_its_owner_alone_unless_the_file_was_shared(
    sapwood: Sapwooder, demo: str, tmp_path: Path
) -> None:
    new, shared, link = tmp_path / "new.md", tmp_path / "shared.md", tmp_path / "link.md"
    shared.write_text("old", encoding="utf-8")
    shared.chmod(0o644)
    link.symlink_to(shared)
    for file in (new, link):
        assert sapwood("export", demo, "-o", str(file)).code == Exit.OK
    assert stat.S_IMODE(new.stat().st_mode) == 0o600
    assert stat.S_IMODE(shared.stat().st_mode) == 0o644
    assert link.is_symlink()
    assert shared.read_text(encoding="utf-8") == new.read_text(encoding="utf-8")


def test_an_export_goes_to_a_device_and_not_to_a_folder_that_is_missing(
    sapwood: Sapwooder, demo: str, tmp_path: Path
) -> None:
    assert sapwood("export", demo, "-o", "/dev/null").code == Exit.OK
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    missing = tmp_path / "missing" / "out.md"
    assert "No such file or directory" in sapwood("export", demo, "-o", str(missing)).err
    assert not missing.parent.exists()
