"""`python -m proofs.tui_tmux`: the real program in tmux, from a first run to a restart."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from proofs.tui_tmux.inline import INLINE_STEPS, InlineDay
from proofs.tui_tmux.program import DEFECT, KEYS, Program, play
from proofs.tui_tmux.terminal import Failed, Terminal
from scripted_model import LoggedRequest, ModelRequest, Reply, ReplyLike, ScriptedModel, fail, think


class Day(Program):
    """A session with the full screen. Each method tests one thing."""

    def first_run(self) -> None:
        """A new user chooses a model, pastes a key and gets an answer."""
        began = time.monotonic()
        terminal = self._terminal
        self._configure()
        self.open()
        terminal.sees("Welcome to Sapwood", "claude-sonnet-5-5")
        terminal.keys("Enter")
        terminal.sees("Paste your API key for Anthropic")
        terminal.type("sk-a-key-for-tests")
        terminal.sees("sends what you type")
        terminal.type("Where do herons nest?")
        terminal.sees("In tall trees.")
        print(f"  from nothing to an answer in {time.monotonic() - began:.0f} s")

    def streamed_answer(self) -> None:
        """An answer is visible while it streams."""
        self._terminal.type("Tell me a long story.")
        self._terminal.sees("once upon", "working")
        self._terminal.sees("THE-END")
        self._terminal.misses("working")

    def completion(self) -> None:
        """A slash lists commands; tab completes."""
        self._terminal.type("/ma", enter=False)
        self._terminal.sees("Bookmark this point")
        self._terminal.keys("Tab")
        self._terminal.sees("│ /mark")

    def mark(self) -> None:
        """A mark is a line in the transcript and in the sidebar."""
        self._terminal.type("BEFORE_STORKS")
        self._terminal.sees("◆ BEFORE_STORKS ─", "MARKS")

    def rewind(self) -> None:
        """The picker shows which turns a rewind removes, and rewinds."""
        terminal = self._terminal
        terminal.type("And storks?")
        terminal.sees("On roofs.")
        terminal.misses("working")
        terminal.keys("Escape", "Escape")
        terminal.sees("leaves view: 1 turn", "- And storks?")
        terminal.keys("Enter")
        terminal.sees("Rewound to 'BEFORE_STORKS'", "pruned")

    def expand(self) -> None:
        """A pruned section opens in place and closes again."""
        terminal = self._terminal
        terminal.misses("On roofs.")
        terminal.keys("C-o")
        terminal.sees("▾ 2 messages pruned", "On roofs.")
        terminal.keys("C-o")
        terminal.misses("On roofs.")

    def undo(self) -> None:
        """What was rewound comes back."""
        self._terminal.type("/undo")
        self._terminal.sees("Undone", "On roofs.")

    def detour(self) -> None:
        """Four turns leave the middle after a look at price and thinking, and come back."""
        terminal = self._terminal
        for question, words in DETOUR.items():
            terminal.type(question)
            terminal.sees(words)
            terminal.misses("working")
        terminal.type("/drop")
        terminal.sees("leaves view: 1 turn")
        terminal.keys("Down", "Tab", "Tab", "Tab", "Tab")
        terminal.sees("leaves view: 4 turns", "/drop 2-5", "next call $", "1 signed thought after")
        terminal.keys("Enter")
        terminal.sees("4 turns dropped", "Dropped 4 turns")
        terminal.type("/undo")
        terminal.sees("Undone: /drop 2-5. 4 turns back in view.")
        terminal.misses("4 turns dropped")

    def question(self) -> None:
        """A decision that left view is found by a question in plain words, and comes back."""
        terminal = self._terminal
        terminal.type("/clear 1")
        terminal.sees("pruned")
        terminal.type("/recall which colour did we choose for the rings of young birds?")
        terminal.sees("Search all conversations", "turn 2  You chose orange rings", "turn 2 · ")
        terminal.keys("Escape")
        terminal.misses("Search all conversations")
        terminal.type("/bring 2")
        terminal.sees("quoted above the turns in view")
        terminal.type("/undo")
        terminal.sees("Undone: /bring")
        terminal.type("/undo")
        terminal.sees("Undone: /clear 1")

    def fork(self) -> None:
        """A child answers in the background and sends mail."""
        terminal = self._terminal
        found = re.search(r"· (\w{10}) #", terminal.screen())
        if found is None:
            raise Failed("the head does not name the agent")
        is_seen = threading.Event()

        def answer_when_seen(asked: ModelRequest) -> ReplyLike | None:
            if "Count the nests." in asked.prompt:
                is_seen.wait(self._terminal.patience)
            return answer(asked)

        self._server.script(answer_when_seen)
        mail = f'{{"command": "send", "args": "{found[1]} Eleven nests."}}'
        terminal.type(f"/fork -- Count the nests. [[tool: slash {mail}]] [[say: Done.]]")
        terminal.sees("Forked. Child:", "◐")
        is_seen.set()
        terminal.sees("✉ From", "Eleven nests.", "1 unread mail")

    def window(self) -> None:
        """Turns that no longer fit are dimmed behind a divider."""
        terminal = self._terminal
        terminal.type("/config cap 60")
        terminal.type("One more thing?")
        terminal.sees("Certainly.")
        terminal.sees("model can't see above")

    def compact(self) -> None:
        """A summary with its score takes the place of the history."""
        terminal = self._terminal
        terminal.type("/config cap 100000")
        terminal.type("Another long story.")
        terminal.sees("FAR-END")
        terminal.misses("working")
        terminal.type("/compact")
        terminal.sees("Summary of", "check", "/compact")

    def resize(self) -> None:
        """At 80 columns the sidebar is hidden; everything else stays."""
        terminal = self._terminal
        terminal.sees("AGENTS")
        terminal.resize(80, 30)
        terminal.misses("AGENTS")
        terminal.sees("Summary of")
        terminal.resize(120, 40)
        terminal.sees("AGENTS")

    def paste(self) -> None:
        """A paste of many lines is inserted and not sent."""
        self._terminal.paste("first line\nsecond line\n/clear\nfourth line")
        self._terminal.sees("first line", "/clear", "fourth line")
        self._terminal.keys("C-c")
        self._terminal.misses("fourth line")

    def permission(self) -> None:
        """A tool asks before it writes, and shows what it would write."""
        terminal = self._terminal
        note = self._folder / "project" / "note.txt"
        subprocess.run(["git", "init", "--quiet", str(note.parent)], check=True)
        write = '{"path": "note.txt", "content": "eleven nests"}'
        terminal.type(f"Write it down. [[tool: write_file {write}]] [[say: Written.]]")
        terminal.sees("Allow this?", "+eleven nests")
        terminal.keys("x")  # a letter that answers nothing
        terminal.sees("What you type is not sent.", "Allow this?", "wants to write note.txt")
        if note.exists():
            raise Failed("the file was written before the question was answered")
        terminal.answer("y")
        terminal.sees("│ Written.")
        terminal.misses("working")
        terminal.keys("BSpace")  # the letter is in the composer
        if note.read_text(encoding="utf-8") != "eleven nests":
            raise Failed("it was not written")

    def revert(self) -> None:
        """Files and context go back together, and forward again."""
        terminal, note = self._terminal, self._folder / "project" / "note.txt"
        self._confirm("/revert")
        terminal.sees("Files and context are as they were", "1 removed")
        if note.exists():
            raise Failed("the file is still there")
        self._confirm("/revert")
        terminal.sees("There is no checkpoint to revert to", "last revert, type")
        terminal.keys("C-c")
        self._confirm("/revert back")
        terminal.agrees(lambda text: "" if note.exists() else "the file did not come back")
        terminal.misses("There is no checkpoint to revert to")

    def _confirm(self, command: str) -> None:
        self._terminal.type(command)
        self._terminal.sees("Press enter again")
        self._terminal.keys("Enter")

    def interrupt(self) -> None:
        """Escape stops the turn and keeps the partial answer; queued prompts wait."""
        terminal = self._terminal
        terminal.type("An endless story.")
        terminal.sees("and on and on")
        terminal.type("Queued meanwhile.")
        terminal.sees("» queued: Queued meanwhile.")
        terminal.keys("Escape")
        terminal.sees("interrupted", "and on and on", "enter sends")
        terminal.keys("Up")
        terminal.misses("» queued")
        terminal.keys("C-c")

    def exit(self) -> None:
        """Exiting restores the terminal and prints how to return."""
        terminal = self._terminal
        terminal.keys("C-c")
        terminal.sees("again to quit")
        terminal.keys("C-c", "C-c")  # seeing may have taken longer than twice in a row allows
        terminal.sees("To come back, type: sapwood open", "left=0")
        self._is_given_back()

    def restart(self) -> None:
        """After a restart everything is unchanged."""
        self._terminal.sees("left=0")
        self._terminal.close()
        self.open()
        self._terminal.sees("interrupted", "and on and on", "MARKS", "BEFORE_STORKS")

    def live(self) -> None:
        """Changes by another process appear at once."""
        found = re.search(r"· (\w{10}) #", self._terminal.screen())
        if found is None:
            raise Failed("the head does not name the agent")
        command = [sys.executable, "-m", "sapwood.cli", "do", found[1], "/mark FROM_OUTSIDE"]
        done = subprocess.run(
            command, env={**os.environ, **self._env()}, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise Failed(f"sapwood do failed: {done.stderr}")
        self._terminal.sees("◆ FROM_OUTSIDE")

    def shared(self) -> None:
        """Two screens and a server share a conversation: each prompt is asked once."""
        first, second = self._terminal, Terminal(*self._terminal.size, patience=120.0)
        serve = [sys.executable, "-m", "sapwood.cli", "serve", "--port", "0"]
        project = self._folder / "project"
        served = subprocess.Popen(
            serve,
            cwd=project,
            env={**os.environ, **self._env()},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            if served.stdout is None or not served.stdout.readline():
                raise Failed("the server did not start")
            command = (sys.executable, "-m", "sapwood.cli")
            second.start(command, str(project), self._env(), KEYS)
            second.sees("FROM_OUTSIDE")
            first.type("Who else is here?")
            first.sees("All three of us.")
            second.sees("All three of us.")
            second.type("One for the night.")
            second.sees("good night")
            second.kill()
            first.sees("NIGHT-END")
            first.misses("working")
        finally:
            served.terminate()
            served.wait(20)
            second.close()
        for prompt, max_calls in (("Who else is here?", 1), ("One for the night.", 2)):
            asked = sum(prompt in _last_message(each) for each in self._server.requests)
            if not 1 <= asked <= max_calls:
                raise Failed(f"'{prompt}' was asked {asked} times")

    def terminated(self) -> None:
        """A program that receives SIGTERM restores the terminal."""
        self._terminal.terminate()
        self._terminal.sees("To come back, type", "left=0")
        self._is_given_back()

    def crash(self) -> None:
        """After a crash the terminal is restored, and a message names the file with the details."""
        self._terminal.close()
        self._start(sys.executable, "-c", DEFECT)
        self._terminal.sees("NIGHT-END", "MARKS")
        self._terminal.keys("C-b")
        self._terminal.sees("ZeroDivisionError: provoked", "The details are in", "left=1")
        self._is_given_back()

    def denied_after_a_kill(self) -> None:
        """A question comes back after a kill, and the model gets the person's no."""
        terminal = self._terminal
        write = '{"path": "late.txt", "content": "late"}'
        terminal.type(f"Write it. [[tool: write_file {write}]] [[say: Not written.]]")
        terminal.sees("Allow this?")
        terminal.kill()
        terminal.sees("left=137")
        terminal.close()
        self.open()
        terminal.sees("Allow this?", "wants to write late.txt")
        terminal.answer("n")
        terminal.sees("The user said no.", "│ Not written.")

    def meter(self) -> None:
        """The meter keeps its unit, and its bar is empty, when the history has left view."""
        terminal = self._terminal
        terminal.sees("of 100k cap")
        terminal.type("/clear")
        terminal.sees("pruned", "history ~0 of 100k cap")
        if "█" in terminal.screen().splitlines()[-2]:
            raise Failed("the bar is filled although the history is empty")
        terminal.type("/undo")
        terminal.sees("Undone: /clear")

    def selected_block(self) -> None:
        """With a block selected, the queue says how enter sends again."""
        terminal = self._terminal
        terminal.type("An endless story.")
        terminal.sees("and on and on")
        terminal.type("Queued meanwhile.")
        terminal.sees("» queued: Queued meanwhile.")
        terminal.keys("Escape")
        terminal.sees("interrupted", "(enter sends")
        terminal.keys("M-Up")
        terminal.sees("(esc leaves the block, enter sends")
        terminal.keys("Escape")
        terminal.sees("(enter sends")
        terminal.keys("Enter")
        terminal.misses("» queued", "working")

    def goal(self) -> None:
        """A goal signs its prompts, and gets a new budget after the old one has ended."""
        terminal = self._terminal
        terminal.type("/goal Count them all. --budget 1")
        terminal.sees("┃ goal", "/goal --budget 10 gives it more")
        terminal.type("/goal --budget 1")
        terminal.waits(lambda shown: shown.count("┃ goal") == 2, "to see both turns of the goal")
        terminal.misses("working")

    def busy_provider(self) -> None:
        """A row counts down to the next attempt."""
        terminal, steps = self._terminal, iter([fail(429, retry_after=6), "Here again."])
        self._server.script(
            lambda asked: next(steps) if "Are you there?" in asked.prompt else answer(asked)
        )
        terminal.type("Are you there?")
        terminal.sees("the provider is busy, attempt 2 of 5 in 3 s · esc stops it")
        terminal.sees("│ Here again.")
        terminal.misses("the provider is busy")

    def long_choice(self) -> None:
        """At 80 columns a long choice is whole, and no toast covers the question."""
        terminal = self._terminal
        terminal.resize(80, 24)
        asked = json.dumps({"question": "Which rings?", "choices": ["None", LONG_CHOICE]})
        terminal.type(f"Ask me. [[tool: ask_user {asked}]] [[say: Thank you.]]")
        terminal.sees("A question for you", "the shop has green ones")
        terminal.keys("x")  # a letter that answers nothing
        terminal.sees("What you type is not sent.", "A question for you", "Which rings?")
        terminal.answer("2")
        terminal.sees("│ Thank you.")
        terminal.keys("BSpace")
        terminal.resize(120, 40)

    def burst(self) -> None:
        """Three thousand letters that are typed at once arrive whole."""
        terminal, began = self._terminal, time.monotonic()
        terminal.type(" ".join(f"word{number}" for number in range(400)), enter=False)
        terminal.sees("word399")
        print(f"  3,000 letters in {time.monotonic() - began:.1f} s")
        terminal.keys("C-c")
        terminal.misses("word399")


STEPS: tuple[Callable[[Day], None], ...] = (
    Day.first_run,
    Day.streamed_answer,
    Day.completion,
    Day.mark,
    Day.rewind,
    Day.expand,
    Day.undo,
    Day.fork,
    Day.window,
    Day.compact,
    Day.resize,
    Day.paste,
    Day.permission,
    Day.revert,
    Day.interrupt,
    Day.exit,
    Day.restart,
    Day.live,
    Day.shared,
    Day.terminated,
    Day.crash,
)


DROP_STEPS: tuple[Callable[[Day], None], ...] = (Day.first_run, Day.detour, Day.question)
"""A day of its own: what it leaves on the screen would hide what later steps look for."""


STRANGER_STEPS: tuple[Callable[[Day], None], ...] = (
    Day.first_run,
    Day.denied_after_a_kill,
    Day.meter,
    Day.selected_block,
    Day.goal,
    Day.busy_provider,
    Day.long_choice,
    Day.burst,
)
"""What people stumbled over who had never seen Sapwood."""

LONG_CHOICE = (
    "Orange ones for the young herons of this year, none at all until the shop has green ones"
)


DETOUR: dict[str, str] = {
    "Which rings do we take?": "You chose orange rings for the young herons.",
    "Do the shops have them?": "Two of them do.",
    "And in green?": "Nobody has green ones.",
    "Then leave it.": "Left.",
    "Back to the nests.": "Eleven of them.",
    "How many eggs?": "Four in each.",
}
"""Questions and answers: four turns of a detour, then one with a thought, then another."""


def answer(asked: ModelRequest) -> ReplyLike | None:
    """The answer of the scripted model to a request."""
    answers = {
        "Where do herons nest?": "In **tall** trees.",
        "Tell me a long story.": f"{'once upon a time ' * 60}THE-END",
        "Another long story.": f"{'long ago and far away ' * 120}FAR-END",
        "A third long story.": f"{'far and wide ' * 150}WIDE-END",
        "An endless story.": "and on " * 12_000,
        "And storks?": "On roofs.",
        "Who else is here?": "All three of us.",
        "One for the night.": f"{'good night ' * 200}NIGHT-END",
        "One more thing?": "Certainly.",
    }
    if asked.prompt.startswith("Summarise this conversation"):
        return "They wanted another long story."  # a summary without their words is refused
    for prompt, words in (answers | DETOUR).items():
        if asked.prompt.rstrip().endswith(prompt):
            return Reply.of(think("Where were we?"), words) if "nests." in prompt else words
    return None


def _last_message(request: LoggedRequest) -> str:
    """The last message of a request, as JSON; empty if it counts tokens or lists models."""
    if request.counts or not request.raw:
        return ""
    return json.dumps(json.loads(request.raw)["messages"][-1])


D = TypeVar("D", bound=Program)


def main(argv: list[str]) -> int:
    """Runs the sessions; prints the step that failed and the screen at that moment."""
    parser = argparse.ArgumentParser(prog="python -m proofs.tui_tmux", description=__doc__)
    parser.add_argument("--patience", type=float, default=120.0, help="seconds to wait for a sight")
    parser.add_argument("--inline", action="store_true", help="only the day with --inline")
    parser.add_argument("--stranger", action="store_true", help="only what strangers stumbled over")
    options = parser.parse_args(argv)
    is_whole = not (options.inline or options.stranger)
    days = (STEPS, DROP_STEPS, STRANGER_STEPS) if is_whole else ()
    days = (STRANGER_STEPS,) if options.stranger else days
    steps = 0
    try:
        for day in days:
            _day(Day, day, Terminal(120, 40, patience=options.patience))
            steps += len(day)
        if not options.stranger:
            _day(InlineDay, INLINE_STEPS, Terminal(80, 24, patience=options.patience))
            steps += len(INLINE_STEPS)
    except Failed as failure:
        print(f"tui-tmux: {failure}")
        return 1
    print(f"tui-tmux: {steps} steps of a working day, all as promised")
    return 0


def _day(kind: type[D], steps: Sequence[Callable[[D], None]], terminal: Terminal) -> None:
    folder = Path(tempfile.mkdtemp(prefix="sapwood-"))
    try:
        with ScriptedModel(delay=0.02) as server:
            server.script(answer)
            play(kind(terminal, folder, server), steps)
            if server.rejections:
                raise Failed(f"the model refused: {server.rejections[0].message}")
    finally:
        terminal.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
