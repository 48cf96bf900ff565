"""Records the real Claude Code and Codex: four turns, a trim by Sapwood, its undo.

`python -m tools.pictures.program_recording` writes docs/images/rewind-claude-code.svg and
docs/images/rewind-codex.svg, and docs/images/undo-compaction.svg, in which Claude Code compacts
its session and Sapwood takes that back. The programs run in tmux, in a home of their own, and can
reach only a scripted model. It answers what it was asked last; asked which questions it sees, it
names those in the request that it got.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from proofs.agents_e2e.environment import ProofError, find_programs
from proofs.agents_e2e.home import Home
from proofs.agents_e2e.namespace import enter_namespace
from proofs.providers_e2e.conversation import until
from proofs.providers_e2e.own_screen import LEAVE, READY, prepare_first_start
from proofs.providers_e2e.processes import program_processes
from proofs.tui_tmux.terminal import Failed, Terminal
from scripted_model import ModelRequest, ScriptedModel, Text
from tools.pictures.svg import GROUND, Frame, moving, still
from tools.pictures.terminal_text import lines_of, with_cursor

FOLDER = Path(__file__).parents[2] / "docs" / "images"
LARGEST = 300_000
"""The largest picture, in bytes."""
_SIZES = {"claude-code": (106, 30), "codex": (106, 37)}
"""Columns and lines, so that four turns are on the screen."""
_STILL = 0.8
_GLANCE = 0.05
_PATIENCE = 60.0
_PIECE = 4
_LONG = 0.6
_TURNS = {
    "Where do grey herons nest?": "In colonies, high in trees near water.",
    "How many eggs do they lay?": "Three to five, from March on.",
    "When do the young fly?": "After seven to eight weeks.",
    "What do they eat?": "Fish, frogs and voles.",
}
_TITLE = "Learn about grey herons"
_MODEL = "gpt-6.1-sol"
"""A model that this version of Codex knows, so that it shows no warning."""
_SUMMARISE = "create a detailed summary"
"""What Claude Code asks when it compacts."""
_SUMMARY = "The user asked about grey herons: nests, eggs, young, food."
_PROBE = "Which questions do you see?"
_COMMANDS = {"claude-code": ("claude", "claude --resume"), "codex": ("codex", "codex resume")}
_MOUNT = Path("/srv")
_SHELL = "~/birds $"
_TMUX = ("TMUX", "TMUX_PANE", "TERM_PROGRAM", "TERM_PROGRAM_VERSION")
"""What a program would notice of tmux."""


def main(arguments: list[str]) -> int:
    """Writes the recordings; returns 1 if one could not be made."""
    parser = argparse.ArgumentParser(prog="python -m tools.pictures.program_recording")
    parser.add_argument("recording", nargs="?", choices=_RECORDINGS, help="only this one")
    parser.add_argument("--frames", type=Path, help="also write the long frames to this folder")
    options = parser.parse_args(arguments)
    try:
        find_programs()
        enter_namespace(arguments, "tools.pictures.program_recording")
        for name, (program, acts) in _RECORDINGS.items():
            if options.recording in (None, name):
                _write(name, program, acts, options.frames)
    except (ProofError, Failed) as error:
        print(f"recordings: {error}", file=sys.stderr)
        return 1
    return 0


def _write(name: str, program: str, acts: "Acts", folder: Path | None) -> None:
    with _home() as home:
        prepare_first_start(home, program)
        if acts is Recording.compaction:
            home.run("sapwood", "install", program, "--yes").check_returncode()
        recording = Recording(home, program)
        try:
            acts(recording)
        finally:
            recording.terminal.close()
            until(lambda: not program_processes(home, None), f"{program} and its hooks to end")
        drawn = moving(recording.frames, "~/birds", GROUND)
    if folder is not None:
        _write_frames(folder, name, recording.frames)
    for path in (Path(sys.prefix), Path.home()):
        if str(path) in drawn:
            raise ProofError(f"the picture shows {path}")
    size = len(drawn.encode())
    if size > LARGEST:
        raise ProofError(f"the picture has {size} bytes, and may have {LARGEST}")
    (FOLDER / f"{name}.svg").write_text(drawn, encoding="utf-8")
    seconds = sum(seconds for seconds, _ in recording.frames)
    count = len(recording.frames)
    print(f"{name}.svg: {size // 1024} kB, {count} frames, {seconds:.0f} s", flush=True)


def _write_frames(folder: Path, name: str, frames: list[Frame]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, (seconds, lines) in enumerate(frames):
        if seconds >= _LONG:
            path = folder / f"{name}-{number:03}.svg"
            path.write_text(still(lines, "~/birds", GROUND), encoding="utf-8")


class Recording:
    """A shell in a terminal, and the frames that were taken of it."""

    def __init__(self, home: Home, program: str) -> None:
        self.frames: list[Frame] = []
        self.terminal = Terminal(*_SIZES[program])
        self._program = program
        environ = {
            **home.environ,
            "PS1": "\\[\\e[32m\\]\\w\\[\\e[0m\\] $ ",
            "COLORTERM": "truecolor",
        }
        shell = ["bash", "--norc", "--noprofile", "-i"]
        self.terminal.start(shell, str(home.project), environ, _TMUX)

    def trim(self) -> None:
        """Four turns, `sapwood clear 2`, one turn, `sapwood undo`, one turn."""
        _, resume = _COMMANDS[self._program]
        self._four_turns()
        self._leave()
        self._sapwood("sapwood clear 2")
        self._open(self._offered(resume))
        self._ask(_PROBE, "I see 2")
        self._leave()
        self._sapwood("sapwood undo")
        self._open(self._offered(resume))
        self._ask(_PROBE, "I see 5")
        self._shot(4.0)

    def compaction(self) -> None:
        """Four turns, a compaction by the program, one turn, `sapwood undo`, one turn."""
        _, resume = _COMMANDS[self._program]
        self._four_turns()
        self._type("/compact")
        self.terminal.keys("Enter")
        self._until(lambda shown: "/sapwood:undo" in shown)
        self._settle()
        self._shot(3.0)
        self._ask(_PROBE, "I see none")
        self._leave()
        self._sapwood("sapwood undo")
        self._open(self._offered(resume))
        self._ask(_PROBE, "I see 5")
        self._shot(4.0)

    def _four_turns(self) -> None:
        start, _ = _COMMANDS[self._program]
        self.terminal.sees(_SHELL)
        self._open(start)  # some notices are shown only once
        self._leave()
        self.terminal.keys("C-l")
        self._settle()
        self.frames.clear()
        self._shot(0.8)
        self._open(start)
        for question, answer in _TURNS.items():
            self._ask(question, answer)

    def _open(self, command: str) -> None:
        """Runs a command that opens the program."""
        self._type(command)
        self.terminal.keys("Enter")
        self._until(lambda shown: READY[self._program] in shown and not _at_prompt(shown))
        self._settle()
        self._shot(2.4)

    def _ask(self, question: str, answer: str) -> None:
        self._type(question)
        self.terminal.keys("Enter")
        self._until(lambda shown: answer in shown)
        self._settle()
        self._shot(1.2)

    def _leave(self) -> None:
        self._type(LEAVE[self._program])
        self.terminal.keys("Enter")
        self._until(_at_prompt)
        self._settle()
        self._shot(1.0)

    def _sapwood(self, command: str) -> None:
        self._type(command)
        self.terminal.keys("Enter")
        self._until(lambda shown: "To continue, type" in shown and _at_prompt(shown))
        self._shot(3.0)

    def _offered(self, command: str) -> str:
        """The command with which Sapwood said to go on."""
        text = self.terminal.screen().replace("\n", "")
        found = re.findall(f"To continue, type: {command} ?([-0-9a-f]{{36}})", text)
        if not found:
            raise Failed(f"no '{command}' is on the screen:\n{self.terminal.screen()}")
        return f"{command} {found[-1]}"

    def _type(self, text: str) -> None:
        for at in range(0, len(text), _PIECE):
            self.terminal.type(text[at : at + _PIECE], enter=False)
            self._until(
                lambda shown, end=at + _PIECE: text[:end].strip() in shown.replace("\n", "")
            )
            self._shot(0.07)
        self._settle()
        self._shot(0.5)

    def _until(self, seen: Callable[[str], bool]) -> None:
        end = time.monotonic() + _PATIENCE
        while not seen(shown := self.terminal.screen()):
            if time.monotonic() > end:
                raise Failed(f"waited {_PATIENCE:g} s; this is shown:\n{shown}")
            time.sleep(_GLANCE)

    def _settle(self) -> None:
        """Waits until the screen no longer changes."""
        end, before, since = time.monotonic() + _PATIENCE, "", 0.0
        while (now := time.monotonic()) < end:
            shown = self.terminal.coloured()
            if shown != before:
                before, since = shown, now
            elif now - since > _STILL:
                return
            time.sleep(_GLANCE)
        raise Failed(f"the screen still changes after {_PATIENCE:g} s:\n{self.terminal.screen()}")

    def _shot(self, seconds: float) -> None:
        lines = lines_of(self.terminal.coloured(), self.terminal.size[0])
        cursor = self.terminal.cursor()
        if cursor is not None:
            column, line = cursor
            lines[line] = with_cursor(lines[line], column)
        self.frames.append((seconds, lines))


Acts = Callable[[Recording], None]
_RECORDINGS: dict[str, tuple[str, Acts]] = {
    "undo-compaction": ("claude-code", Recording.compaction),
    "rewind-claude-code": ("claude-code", Recording.trim),
    "rewind-codex": ("codex", Recording.trim),
}
"""The name of each picture, the program, and what is done."""


def _at_prompt(shown: str) -> bool:
    return shown.rstrip().endswith(_SHELL)


@contextmanager
def _home() -> Generator[Home]:
    # Paths are shown, so they are as short as a user's, and the same each time. Below the folder
    # for temporary files Codex makes no helper programs for its sandbox.
    subprocess.run(["mount", "-t", "tmpfs", "recording", _MOUNT], check=True)
    allowed = {"anthropic": ["safeguards"]}  # sent from a terminal
    with ScriptedModel(allow=allowed, delay=0.05) as model:
        model.script(_answer)
        home = Home(_MOUNT / "ada", find_programs(), model)
        (home.root / "bin" / "sapwood").symlink_to(Path(sys.executable).with_name("sapwood"))
        home.project = home.root / "birds"
        home.project.mkdir()
        settings = home.codex / "config.toml"
        known = settings.read_text().replace('"gpt-5-codex"', f'"{_MODEL}"')
        # With its background server, Codex keeps a thread open after `/quit`.
        settings.write_text(f"{known}\n[features]\ndaemon_auto_start = false\n")
        yield home
        if model.rejections:
            raise ProofError(f"the model rejected a request: {model.rejections[0]}")
    subprocess.run(["umount", _MOUNT], check=True)


def _answer(request: ModelRequest) -> str:
    texts = [
        part.text.strip()
        for message in request.messages
        if message.role == "user"
        for part in message.parts
        if isinstance(part, Text)
    ]
    if texts and _SUMMARISE in texts[-1]:
        return f"<summary>{_SUMMARY}</summary>"
    asked = [text for text in texts if text in _TURNS or text == _PROBE]
    if request.schema or not asked:  # Codex asks for a title
        return json.dumps({"title": _TITLE})
    if asked[-1] in _TURNS:
        return _TURNS[asked[-1]]
    if len(asked) == 1:
        return "I see none, only a summary."
    return "\n".join([f"I see {len(asked) - 1}:", "", *(f"- {text}" for text in asked[:-1])])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
