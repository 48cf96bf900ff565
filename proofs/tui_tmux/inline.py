"""A session with `sapwood --inline`: everything is printed to the scrollback once, in order."""

import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from proofs.tui_tmux.program import DEFECT, Program
from proofs.tui_tmux.terminal import Failed

_ABOVE = "this was in the terminal before"
_COMPOSER = "╭──"
_EMPTY = "Message, or / for commands"


class InlineDay(Program):
    """A session at 80 columns, in a terminal that already has output."""

    def open(self, *args: str) -> None:
        """Starts the program below a line of another program."""
        self._below(sys.executable, "-m", "sapwood.cli", *args)

    def _below(self, *command: str, **env: str) -> None:
        script = f'echo "{_ABOVE}"; exec "$0" "$@"'
        self._start("sh", "-c", script, *command, EDITOR=str(self._editor()), **env)

    def _editor(self) -> Path:
        """A script as an editor: it adds a few words and exits."""
        editor = self._folder / "editor"
        editor.write_text('#!/bin/sh\necho "from an editor" >> "$1"\n', encoding="utf-8")
        editor.chmod(0o700)
        return editor

    def first_lines(self) -> None:
        """The first run is a page below the prompt; the first answer is printed there."""
        terminal = self._terminal
        self._configure()
        self.open("--inline")
        terminal.sees(_ABOVE, "Welcome to Sapwood", "claude-sonnet-5-5")
        terminal.keys("Enter")
        terminal.sees("Paste your API key for Anthropic")
        terminal.type("sk-a-key-for-tests")
        terminal.sees("Message, or / for commands")
        terminal.type("Where do herons nest?")
        terminal.sees("In tall trees.", "tokens")
        self._is_given_back()

    def streamed_answer(self) -> None:
        """An answer is visible while it streams, in a third of the screen, and is printed once."""
        self._terminal.type("Tell me a long story.")
        shown = self._terminal.sees("once upon", "working")
        if sum("once upon" in line for line in shown.splitlines()) > 24 // 3:
            raise Failed(f"an answer on its way takes too much of the screen:\n{shown}")
        self._terminal.sees("THE-END")
        self._terminal.misses("working")
        self._in_order("┃ Where do herons nest?", "In tall trees.", "┃ Tell me a", "THE-END")

    def completion(self) -> None:
        """A slash lists commands below the line; tab completes."""
        self._terminal.type("/ma", enter=False)
        self._terminal.sees("Bookmark this point")
        self._terminal.keys("Tab")
        self._terminal.sees("│ /mark")

    def mark(self) -> None:
        """A mark is a line in the scrollback."""
        self._terminal.type("BEFORE_STORKS")
        self._terminal.sees("◆ BEFORE_STORKS ─")

    def page(self) -> None:
        """A page opens and closes, and nothing else changes."""
        before = self._lines()
        self._terminal.keys("C-t")
        self._terminal.sees("total", "esc closes")
        self._terminal.keys("Escape")
        self._terminal.misses("esc closes")
        self._terminal.sees("Message, or / for commands")
        self._terminal.agrees(lambda text: _leftover(text, before))

    def rewind(self) -> None:
        """The picker shows which turns a rewind removes; a line reports it; printed rows stay."""
        terminal = self._terminal
        terminal.type("And storks?")
        terminal.sees("On roofs.", "tokens")
        terminal.misses("working")
        terminal.keys("Escape", "Escape")
        terminal.sees("leaves view: 1 turn", "- And storks?")
        terminal.keys("Enter")
        terminal.sees("Rewound to 'BEFORE_STORKS'", "2 messages pruned · /rewind BEFORE_STORKS")
        self._in_order("THE-END", "◆ BEFORE_STORKS", "On roofs.", "2 messages pruned")

    def undo(self) -> None:
        """A line reports that the turns are restored."""
        self._terminal.type("/undo")
        self._terminal.sees("Undone", "2 messages back in view · /undo")

    def other_keys(self) -> None:
        """Keys of the full screen show a hint about what to do instead."""
        self._terminal.keys("C-o")
        self._terminal.sees("Use the terminal to scroll and search here")

    def editor(self) -> None:
        """An editor uses the terminal; afterwards it is restored."""
        before = self._lines()
        self._terminal.type("Written ", enter=False)
        self._terminal.keys("C-g")
        self._terminal.sees("│ Written from an editor")
        self._terminal.keys("C-c")
        self._terminal.sees("Message, or / for commands")
        self._terminal.agrees(lambda text: _leftover(text, before))

    def asking(self) -> None:
        """A tool asks for permission below the transcript; its call is printed when it is done."""
        terminal, note = self._terminal, self._folder / "project" / "note.txt"
        wanted = '{"path": "note.txt", "content": "eleven nests"}'
        terminal.type(f"Note it. [[tool: write_file {wanted}]] [[say: Written.]]")
        terminal.sees("Allow this?", "+eleven nests")
        terminal.answer("y")
        terminal.sees("│ Written.")
        terminal.misses("Allow this?", "working")
        if note.read_text(encoding="utf-8") != "eleven nests":
            raise Failed("it was not written")
        self._in_order("┃ Note it.", "● write_file", "│ Written.")

    def fork(self) -> None:
        """A child answers in the background and sends mail."""
        found = re.search(r"── .* · (\w{10}) · claude", self._terminal.everything())
        if found is None:
            raise Failed("the title does not name the agent")
        mail = f'{{"command": "send", "args": "{found[1]} Eleven nests."}}'
        self._terminal.type(f"/fork -- Count the nests. [[tool: slash {mail}]] [[say: Done.]]")
        self._terminal.sees("Forked. Child:")
        self._terminal.sees("✉ From", "Eleven nests.", "Type /check-mail")

    def window(self) -> None:
        """A line shows which turns no longer fit, and where the model's view begins."""
        terminal = self._terminal
        terminal.type("/config cap 60")
        terminal.type("One more thing?")
        terminal.sees("Certainly.", "▲ model can't see above #")
        terminal.misses("working")

    def compact(self) -> None:
        """A summary is printed with its score."""
        terminal = self._terminal
        terminal.type("/config cap 100000")
        terminal.type("Another long story.")
        terminal.sees("FAR-END")
        terminal.misses("working")
        terminal.type("/compact")
        terminal.sees("Summary of", "check", "pruned · /compact")

    def resize(self) -> None:
        """At every size, nothing is lost or printed twice, and there is one input line."""
        for size in ((60, 24), (120, 40), (120, 12), (80, 24)):
            self._terminal.resize(*size)
            self._is_whole()

    def drag(self) -> None:
        """The window is resized many times while an answer streams."""
        self._terminal.type("A third long story.")
        self._terminal.sees("far and wide", "working")
        for step in (78, 75, 71, 66, 60, 57, 63, 70, 76, 80):
            self._terminal.resize(step, 24 - (80 - step) // 8)
            time.sleep(0.05)
        self._terminal.sees("WIDE-END")
        self._terminal.misses("working")
        self._is_whole("WIDE-END")

    def _is_whole(self, *more: str) -> None:
        """Everything so far is there once and in order, and there is one composer."""
        self._terminal.sees("Message, or / for commands")
        self._in_order(
            _ABOVE,
            "In tall trees.",
            "THE-END",
            "On roofs.",
            "Certainly.",
            "FAR-END",
            "Summary of",
            *more,
        )
        self._terminal.agrees(_one_composer)

    def interrupt(self) -> None:
        """Escape stops the turn and prints the partial answer; queued prompts wait."""
        terminal = self._terminal
        terminal.type("An endless story.")
        terminal.sees("and on and on", "working")
        terminal.type("Queued meanwhile.")
        terminal.sees("» queued: Queued meanwhile.")
        terminal.keys("Escape")
        terminal.sees("■ interrupted", "and on and on", "enter sends")
        terminal.keys("Up")
        terminal.misses("» queued")
        terminal.keys("C-c")

    def new(self) -> None:
        """A new conversation begins below a line with its name."""
        self._terminal.type("/new")
        self._terminal.sees("New agent:", "Message, or / for commands")
        self._terminal.type("And storks?")
        self._terminal.sees("On roofs.", "tokens")
        titles = re.findall(r"── .* · \w{10} · claude", self._terminal.everything())
        if len(titles) != 2:
            raise Failed(f"two conversations, but these titles: {titles}")

    def exit(self) -> None:
        """Exiting removes the live area and prints how to return."""
        terminal = self._terminal
        terminal.misses("working")
        terminal.keys("C-c")
        terminal.sees("again to quit")
        terminal.keys("C-c", "C-c")  # seeing may have taken longer than twice in a row allows
        terminal.sees("To come back, type: sapwood open", "left=0")
        self._is_left()

    def restart(self) -> None:
        """After a restart the last screenful is printed, and how much is before it."""
        self._terminal.close()
        self.open("--inline")
        self._terminal.sees("On roofs.", "Message, or / for commands")
        self._terminal.type("Another long story.")
        self._terminal.sees("FAR-END")
        self._terminal.misses("working")
        self._terminal.close()
        self.open("--inline")
        self._terminal.sees("FAR-END", "Message, or / for commands")
        if not re.search(r"╌╌╌ [23] messages before: sapwood show", self._terminal.everything()):
            raise Failed(f"the line about earlier rows is missing:\n{self._terminal.everything()}")

    def few_lines(self) -> None:
        """A terminal of ten lines is enough, also without colours."""
        self._terminal.close()
        self._terminal.size = (80, 10)
        self._below(sys.executable, "-m", "sapwood.cli", "--inline", NO_COLOR="1")
        self._terminal.sees("Message, or / for commands")
        self._terminal.type("One more thing?")
        self._terminal.sees("Certainly.", "tokens")
        self._terminal.misses("working")
        self.page()
        printed = self._terminal.everything("-e").rpartition("╭")[0].rpartition("\n")[0]
        if re.search(r"\x1b\[[\d;]*(3[0-8]|4[0-8]|9\d)[;m]", printed):
            raise Failed(f"something that is printed is coloured:\n{printed}")

    def terminated(self) -> None:
        """A program that receives SIGTERM leaves only what it has printed."""
        self._terminal.terminate()
        self._terminal.sees("To come back, type", "left=0")
        self._is_left()

    def crash(self) -> None:
        """After a crash the terminal is restored, and a message names the file with the details."""
        self._terminal.close()
        self._terminal.size = (80, 24)
        self._below(sys.executable, "-c", DEFECT, "--inline")
        self._terminal.sees("Certainly.", "Message, or / for commands")
        self._terminal.keys("C-b")
        self._terminal.sees("ZeroDivisionError: provoked", "The details are in", "left=1")
        self._is_left()

    def _lines(self) -> list[str]:
        """Everything down to the input line, once the screen no longer changes."""
        self._terminal.agrees(_one_composer)
        return _above_composer(self._terminal.everything())

    def _in_order(self, *words: str) -> None:
        """Each of these is in scrollback and screen exactly once, one below the other."""
        self._terminal.agrees(lambda text: _disorder(text, words))

    def _is_left(self) -> None:
        """The live area is removed, and the terminal is restored."""
        self._is_given_back()
        text = self._terminal.everything()
        if _COMPOSER in text.splitlines()[-5:] or "/ commands" in text:
            raise Failed(f"something of the live area is left:\n{text}")


def _above_composer(text: str) -> list[str]:
    lines = text.rstrip().splitlines()
    return lines[: next((n for n, line in enumerate(lines) if _EMPTY in line), len(lines))]


def _leftover(text: str, before: Sequence[str]) -> str:
    return "" if _above_composer(text) == [*before] else "something is left behind"


def _one_composer(text: str) -> str:
    return "" if text.count(_EMPTY) == 1 else "there is not exactly one composer"


def _disorder(text: str, words: Sequence[str]) -> str:
    places = [[found.start() for found in re.finditer(re.escape(each), text)] for each in words]
    once = all(len(each) == 1 for each in places)
    return "" if once and places == sorted(places) else f"not each of {words} once and in order"


INLINE_STEPS: tuple[Callable[[InlineDay], None], ...] = (
    InlineDay.first_lines,
    InlineDay.streamed_answer,
    InlineDay.completion,
    InlineDay.mark,
    InlineDay.page,
    InlineDay.rewind,
    InlineDay.undo,
    InlineDay.other_keys,
    InlineDay.editor,
    InlineDay.asking,
    InlineDay.fork,
    InlineDay.window,
    InlineDay.compact,
    InlineDay.resize,
    InlineDay.drag,
    InlineDay.interrupt,
    InlineDay.new,
    InlineDay.exit,
    InlineDay.restart,
    InlineDay.few_lines,
    InlineDay.terminated,
    InlineDay.crash,
)
