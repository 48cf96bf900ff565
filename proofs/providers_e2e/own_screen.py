"""A session on the program's own screen, in tmux: what it shows, and a turn that is typed there."""

from pathlib import Path

from proofs.agents_e2e.environment import ProofError
from proofs.agents_e2e.home import Home
from proofs.agents_e2e.terminal import answer_first_questions
from proofs.providers_e2e.conversation import until
from proofs.providers_e2e.processes import kill_program
from proofs.tui_tmux.terminal import Failed, Terminal

_PATIENCE = 40.0
READY = {"claude-code": "❯", "codex": "›"}
LEAVE = {"claude-code": "/exit", "codex": "/quit"}
_COMMANDS = {"claude-code": ("claude", "--resume"), "codex": ("codex", "resume")}


def type_a_turn(
    home: Home, program: str, session: str, shown: str, prompt: str, answer: str
) -> None:
    """Opens a session on the program's own screen, waits for words of it, and types a prompt there.

    Raises `ProofError` if the words or the answer do not come.
    """
    terminal = _open(home, program, session)
    try:
        terminal.sees(READY[program], shown)
        terminal.type(prompt, enter=False)
        terminal.sees(prompt[-12:])
        terminal.keys("Enter")
        until(lambda: _is_written(home, program, session, answer), f"{answer} on the screen")
        terminal.type(LEAVE[program], enter=False)
        terminal.sees(LEAVE[program])
        terminal.keys("Enter")
        terminal.sees("left=")
    except Failed as failed:
        raise ProofError(str(failed)) from failed
    finally:
        terminal.close()


def listed_sessions(home: Home, program: str, *words: str) -> str:
    """The program's own list of sessions, once it has these words."""
    terminal = _open(home, program)
    try:
        return terminal.sees(*words)
    except Failed as failed:
        raise ProofError(str(failed)) from failed
    finally:
        terminal.close()
        kill_program(home, program)


def prepare_first_start(home: Home, program: str) -> None:
    """Answers what the program asks on its first start in the project of this home."""
    if program == "claude-code":
        answer_first_questions(home)
    else:
        _trust(home)


def _open(home: Home, program: str, *session: str) -> Terminal:
    prepare_first_start(home, program)
    name, *rest = _COMMANDS[program]
    terminal = Terminal(140, 45, patience=_PATIENCE)
    command = [str(home.root / "bin" / name), *rest, *session]
    terminal.start(command, str(home.project), home.environ, ())
    return terminal


def _trust(home: Home) -> None:
    """What Codex asks about a folder on its first start there."""
    settings = home.codex / "config.toml"
    section = f'\n[projects."{home.project}"]\ntrust_level = "trusted"\n'
    if section not in settings.read_text():
        with settings.open("a") as file:
            file.write(section)


def _is_written(home: Home, program: str, session: str, answer: str) -> bool:
    places = (home.claude / "projects", home.codex / "sessions")
    paths = [path for place in places for path in place.rglob(f"*{session}*.jsonl")]
    return any(_has_answer(path, program, answer) for path in paths)


def _has_answer(path: Path, program: str, answer: str) -> bool:
    wanted = (
        f'"text":"{answer}"' if program == "claude-code" else f'"last_agent_message":"{answer}"'
    )
    return wanted in path.read_text("utf-8", "replace")
