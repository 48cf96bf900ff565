"""`sapwood run`, as people call it: a process of its own, a model over HTTP, a real database."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sapwood.api import Sapwood
from scripted_model import ModelRequest, Reply, ScriptedModel, call, fail
from tests.cli.calling import KEY, Database, Ran, Sapwooder


class Started:
    """The program while it runs."""

    def __init__(self, *args: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "sapwood.cli", *args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.out = b""

    def until(self, words: bytes) -> None:
        assert self.process.stdout is not None
        while words not in self.out:
            piece = os.read(self.process.stdout.fileno(), 1000)
            assert piece, self.out
            self.out += piece

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self) -> Ran:
        out, err = self.process.communicate(timeout=60)
        return Ran(self.process.returncode, (self.out + out).decode(), err.decode())


@pytest.mark.parametrize(
    "name",
    ["claude-sonnet-5-5", "gpt-6.1-sol", "openai-chat:gpt-5.4", "gemini-3.8-flash", "den:qwen3"],
)
def test_every_provider_answers(program: Sapwooder, model: ScriptedModel, name: str) -> None:
    model.replies(["Forty-two."])
    ran = program("run", "-p", "What is 6 x 7?", "--model", name)
    assert ran == Ran(0, "Forty-two.\n", "")


def test_a_conversation_goes_on_by_name(sapwood: Sapwooder, model: ScriptedModel) -> None:
    seen: list[ModelRequest] = []
    model.script(seen.append)
    model.replies(["Hello to you.", "You said hello."])
    sapwood("run", "--agent", "demo", "--new", "-p", "Hello!", "--system", "Be brief.")
    ran = sapwood("run", "--agent", "demo", "-p", "What did I say?")
    assert ran.out == "You said hello.\n"
    assert [message.text for message in seen[-1].messages] == [
        "Hello!",
        "Hello to you.",
        "What did I say?",
    ]
    assert "Be brief." in seen[-1].system
    again = sapwood("run", "--agent", "demo", "--new", "-p", "Hello!")
    assert again.code == 1
    assert "drop --new" in again.err


def test_the_newest_agent_is_gone_on_with(sapwood: Sapwooder, model: ScriptedModel) -> None:
    seen: list[ModelRequest] = []
    model.script(seen.append)
    model.replies(["One.", "Two."])
    sapwood("run", "-p", "First.")
    assert sapwood("run", "--continue", "-p", "Second.").out == "Two.\n"
    assert len(seen[-1].messages) == 3


def test_json_tells_everything(sapwood: Sapwooder, model: ScriptedModel) -> None:
    model.replies(["One two three four five six seven."])
    ran = sapwood("run", "--json", "-p", "Count.")
    lines = [json.loads(line) for line in ran.out.splitlines()]
    kinds = [line.get("kind") for line in lines if line["type"] == "event"]
    assert kinds == [
        "instructions.read",
        "turn.started",
        "model.called",
        "reply.added",
        "turn.completed",
    ]
    pieces = [line["text"] for line in lines if line["type"] == "delta"]
    assert len(pieces) >= 1  # an answer that is complete at once is one piece
    assert "".join(pieces) == "One two three four five six seven."
    assert lines[-1]["type"] == "end"
    assert lines[-1]["exit"] == 0
    assert lines[-1]["used"]["input"] > 0


def test_answers_in_json_have_no_styles(sapwood: Sapwooder, model: ScriptedModel) -> None:
    model.replies(["One two three."])
    ran = sapwood("run", "--json", stdin="Count.\n/replay\n")
    lines = [json.loads(line) for line in ran.out.splitlines()]
    (answer,) = [line["says"] for line in lines if line["type"] == "answer"]
    assert answer.splitlines()[0] == "instructions default"
    assert "\nuser\n  Count.\n" in answer


def test_an_answer_that_was_cut_off_says_so(sapwood: Sapwooder, model: ScriptedModel) -> None:
    model.replies([Reply.of("Once upon a time.", limit=9)])
    ran = sapwood("run", "-p", "Tell me a story.", "--agent", "demo", "--new")
    assert ran.out == "Once upon\n"
    assert ran.err == "[cut off: the reply ran into the limit of its length]\n"
    assert "[cut off: the reply" in sapwood("show", "demo").out


def test_a_script_on_stdin_is_played(sapwood: Sapwooder, model: ScriptedModel) -> None:
    model.replies(["First answer.", "Second answer."])
    ran = sapwood("run", stdin="/mark T\nOne?\n/mark U\nTwo?\n/rewind T\n/exit\nNever.")
    assert ran.out.splitlines() == [
        "Marked 'T'.",
        "First answer.",
        "Marked 'U'.",
        "Second answer.",
        "Rewound to 'T'. 2 turns removed from view.",
    ]
    assert len(model.requests) == 2


def test_piped_text_is_never_a_command(sapwood: Sapwooder, model: ScriptedModel) -> None:
    seen: list[ModelRequest] = []
    model.script(seen.append)
    ran = sapwood("run", "-p", "Review this.", "-i", "-", stdin="/kill abc123\n+ a line\n")
    assert ran.code == 0
    assert seen[-1].prompt == "Review this.\n\n/kill abc123\n+ a line"


def test_what_tools_may_do_has_to_be_allowed(
    sapwood: Sapwooder, model: ScriptedModel, home: Path
) -> None:
    def touch(name: str) -> list[Reply | str]:
        return [Reply.of(call("shell", command=f"touch {name}")), "Done."]

    model.replies([*touch("one"), *touch("two")])
    sapwood("run", "-p", "Make one.")
    sapwood("run", "-p", "Make two.", "--allow", "shell(touch two)")
    made = {path.name for path in (home / "project").iterdir()}
    assert made == {"two"}


def test_a_blocked_tool_is_told_in_scripts(sapwood: Sapwooder, model: ScriptedModel) -> None:
    calls = [Reply.of(call("write_file", path="a.py", content="x")), "Done, tests pass."]
    model.replies([*calls, *calls])
    line = (
        "write_file was blocked: it needs approval and nobody can approve it here. Allow it "
        "with --allow 'write_file(a.py)'."
    )
    ran = sapwood("run", "-p", "Write it.")
    assert ran == Ran(9, "Done, tests pass.\n", f"{line}\n")
    ran = sapwood("run", "-p", "Write it.", "--json")
    assert ran.code == 9
    end = json.loads(ran.out.splitlines()[-1])
    assert (end["exit"], end["blocked"]) == (9, [line])


def test_a_permission_mode_is_kept_with_the_agent(
    sapwood: Sapwooder, model: ScriptedModel, home: Path
) -> None:
    calls = [Reply.of(call("write_file", path="a.py", content="x\n")), "Done."]
    model.replies([*calls, *calls])
    ran = sapwood(
        "run", "-p", "Write it.", "--permission-mode", "accept-edits", "--agent", "it", "--new"
    )
    assert ran.code == 0
    assert (home / "project" / "a.py").read_text() == "x\n"
    shown = sapwood("show", "it").out
    assert "+x" in shown
    assert "+x" in sapwood("export", "it").out
    assert "accept-edits" in sapwood("do", "it", "/permissions").out
    sapwood("do", "it", "/permissions read-only")
    ran = sapwood("run", "-p", "Again.", "--agent", "it", "--allow", "write_file(a.py)")
    assert ran.code == 9
    assert "write_file was blocked: the permission mode is read-only." in ran.err


def test_a_list_of_custom_commands_opens_no_turn(
    sapwood: Sapwooder, model: ScriptedModel, home: Path
) -> None:
    ran = sapwood("run", "--agent", "lister", "--new", stdin="/use\n")
    assert (ran.code, len(model.requests)) == (0, 0)
    assert "There are no custom commands and no skills here." in ran.out + ran.err


def test_a_misspelt_rule_is_refused_where_it_is_given(sapwood: Sapwooder) -> None:
    for arguments in (
        ("run", "-p", "Hello!", "--allow", "shel(ls)"),
        ("config", "set", "permissions", '["allow shel(ls)"]'),
    ):
        ran = sapwood(*arguments)
        assert ran.code == 2
        assert "Did you mean shell?" in ran.err
    assert "alow" not in sapwood("config", "set", "permissions", '["alow shell"]').out


def test_a_rule_that_is_none_is_refused(sapwood: Sapwooder, model: ScriptedModel) -> None:
    ran = sapwood("run", "-p", "Hello!", "--allow", "sudo make me (")
    assert ran.code == 2
    assert "is not a valid rule" in ran.err


def test_without_a_key_nothing_is_recorded(
    sapwood: Sapwooder, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    ran = sapwood("run", "-p", "Hello!")
    assert ran.code == 3
    assert "sapwood config key anthropic" in ran.err
    assert sapwood("agents").out == ""


def test_without_a_model_nothing_is_recorded(sapwood: Sapwooder, home: Path) -> None:
    ran = sapwood("run", "-p", "Hello!")
    assert ran.code == 3
    assert "sapwood config set model" in ran.err
    assert sapwood("agents").out == ""


def test_an_unknown_model_names_the_nearest(sapwood: Sapwooder, model: ScriptedModel) -> None:
    ran = sapwood("run", "-p", "Hello!", "--model", "gtp-5")
    assert ran.code == 3
    assert "gpt-5" in ran.err


@pytest.mark.parametrize(("status", "code"), [(401, 3), (404, 3), (400, 1), (529, 7)])
def test_each_failure_has_its_code(
    sapwood: Sapwooder, model: ScriptedModel, status: int, code: int
) -> None:
    model.script(lambda _: fail(status, retry_after=600))
    ran = sapwood("run", "-p", "Hello!")
    assert ran.code == code
    assert ran.err.startswith("Error: ")
    assert KEY not in ran.err


def test_a_failed_prompt_is_asked_again(sapwood: Sapwooder, model: ScriptedModel) -> None:
    model.script(lambda _: fail(400))
    assert sapwood("run", "--agent", "demo", "--new", "-p", "Hello!").code == 1
    model.script(lambda _: Reply.of("Good day."))
    ran = sapwood("run", "--agent", "demo", "-p", "/retry")
    assert ran.code == 0
    assert "Good day." in ran.out
    assert "To send text to a model, type: sapwood run" in sapwood("do", "demo", "/retry").err


def test_nothing_to_say_is_a_matter_of_usage(sapwood: Sapwooder, model: ScriptedModel) -> None:
    assert sapwood("run").code == 2
    assert sapwood("run", "--continue", "--agent", "demo", "-p", "Hello!").code == 2


def test_time_is_up(sapwood: Sapwooder, model: ScriptedModel) -> None:
    model.script(lambda _: Reply.of("Late.", sleep=60))
    ran = sapwood("run", "--agent", "demo", "--new", "-p", "Hello!", "--timeout", "0.5")
    assert ran.code == 6
    assert "Timed out." in ran.err
    assert "interrupted: after 0.5 seconds" in sapwood("show", "demo").out


def test_ctrl_c_interrupts_and_keeps_what_is_there(
    sapwood: Sapwooder, model: ScriptedModel
) -> None:
    model.script(lambda _: Reply.of("The first words and then nothing.", stall=60))
    started = Started("run", "--agent", "demo", "--new", "-p", "Hello!")
    started.until(b"The first words")
    started.signal(signal.SIGINT)
    ran = started.end()
    assert ran.code == 5
    assert "Interrupted. The partial reply is kept" in ran.err
    shown = sapwood("show", "demo").out
    assert "The first words" in shown
    assert "(interrupted: by the user)" in shown


def test_ctrl_c_twice_leaves_at_once_and_the_turn_can_go_on(
    sapwood: Sapwooder, model: ScriptedModel
) -> None:
    model.script(lambda _: Reply.of("The first words and then nothing.", stall=60))
    started = Started("run", "--agent", "demo", "--new", "-p", "Hello!")
    started.until(b"The first words")
    started.signal(signal.SIGINT)
    started.signal(signal.SIGTERM)
    assert started.end().code == 5
    sapwood("interrupt", "demo")
    model.script(lambda _: "There you are.")
    assert sapwood("run", "--agent", "demo", "-p", "And now?").out == "There you are.\n"


def test_a_turn_that_a_dead_process_left_open_goes_on(
    sapwood: Sapwooder, model: ScriptedModel
) -> None:
    model.script(lambda _: Reply.of("The first words and then nothing.", stall=60))
    started = Started("run", "--agent", "demo", "--new", "-p", "Hello!")
    started.until(b"The first words")
    started.signal(signal.SIGKILL)
    started.end()
    refused = sapwood("run", "--agent", "demo", "-p", "Another.")
    assert refused.code == 1
    assert "sapwood run --agent" in refused.err
    model.script(lambda _: "There you are.")
    assert sapwood("run", "--agent", "demo").out == "There you are.\n"


def test_a_reader_that_stops_interrupts_the_turn(sapwood: Sapwooder, model: ScriptedModel) -> None:
    words = " ".join(f"word{number}" for number in range(20_000))
    model.script(lambda _: Reply.of(words, stall=1.0))
    started = Started("run", "--agent", "demo", "--new", "-p", "Hello!")
    started.until(b"word0")
    assert started.process.stdout is not None
    started.process.stdout.close()
    assert started.process.wait(60) == 0
    assert "the output was closed" in sapwood("show", "demo").out
    assert started.process.stderr is not None
    assert started.process.stderr.read() == b""
    started.process.stderr.close()


def test_a_model_that_takes_less_is_not_switched_to(
    sapwood: Sapwooder, model: ScriptedModel, database: Database
) -> None:
    async def fill(db: Sapwood) -> None:
        agent = await db.start("long", model="claude-sonnet-5-5", cap=0)
        await agent.record("Read this. " + "word " * 300_000, "Done.")

    database(fill)
    ran = sapwood("run", "--agent", "long", "--model", "gpt-4", "-p", "Go on.")
    assert ran.code == 1
    assert "but gpt-4 can take only" in ran.err


def test_a_summary_takes_the_place_of_the_history(
    sapwood: Sapwooder, model: ScriptedModel, database: Database
) -> None:
    async def talk(db: Sapwood) -> None:
        agent = await db.start("demo", model="claude-sonnet-5-5")
        await agent.record("Tell me of herons.", "They nest in tall trees. " * 100)

    database(talk)
    weak = sapwood("compact", "demo")
    assert weak.code == 1
    assert "1 turn summarised, but none of the key facts are in the summary." in weak.err
    advice = "Type sapwood compact demo to try again, or sapwood compact demo --anyway to accept"
    assert advice in weak.err
    assert "[Summary of" not in sapwood("show", "demo").out
    assert sapwood("compact", "demo", "--anyway").code == 0
    assert sapwood("do", "demo", "/undo").code == 0
    model.replies(["Herons nest in tall trees."])
    ran = sapwood("compact", "demo")
    assert ran.code == 0
    assert re.search(r"It contains \d+ % of the facts that were checked\.$", ran.out.strip())
    assert "[Summary of the conversation before this point]" in sapwood("show", "demo").out
    assert sapwood("do", "demo", "/undo").out.startswith("Undone: ")


def test_keys_never_reach_the_log(sapwood: Sapwooder, model: ScriptedModel, home: Path) -> None:
    model.replies([Reply.of(call("shell", command=f"echo {KEY}")), "Done."])
    sapwood("run", "-p", "Print it.", "--allow", "shell(echo *)", "-vv")
    stored = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert b"Print it." in stored
    assert stored.count(KEY.encode()) == stored.count(f"echo {KEY}".encode())
