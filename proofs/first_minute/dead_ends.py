"""What goes wrong in a first minute: each dead end says on the screen what to do, and it works."""

import subprocess

from proofs.first_minute.newcomer import Newcomer
from proofs.tui_tmux.terminal import Failed
from scripted_model import ScriptedModel

RIGHT, _WRONG = "sk-the-right-key", "sk-a-wrong-key"
_MODEL = "claude-sonnet-5-5"
_FULL = "600k"
"""The size of the full disk: enough for the settings, too small for a conversation."""


def wrong_key(user: Newcomer, model: ScriptedModel) -> None:
    """The first run rejects a wrong key, and the right one is typed in its place."""
    user.send_models_to(model.anthropic_url)
    user.types("sapwood")
    user.sees("Welcome to Sapwood")
    user.presses("Enter")
    user.sees("Paste your API key for Anthropic")
    user.types(_WRONG)
    user.sees("Anthropic rejected this API key. It was not stored.")
    user.types(RIGHT)
    user.sees("The API key works")
    user.types("Where do herons nest?")
    user.sees("In tall trees.")


def revoked_key(user: Newcomer, model: ScriptedModel) -> None:
    """The screen asks for another key where a stored one failed, and the prompt is not lost."""
    user.send_models_to(model.anthropic_url)
    user.runs(f"echo {_WRONG} | sapwood config key anthropic", "Stored in")
    user.runs(f"sapwood config set model {_MODEL}", f"model = {_MODEL}")
    user.types("sapwood")
    user.sees("sends what you type")
    user.types("Where do herons nest?")
    user.sees("Anthropic rejected the API key", "Paste your API key for Anthropic")
    user.types(RIGHT)
    user.sees("The API key works")
    user.presses("Up", "Enter")
    user.sees("In tall trees.")


def wrong_key_in_a_script(user: Newcomer, model: ScriptedModel) -> None:
    """The error names the provider, the place of the key and the command that replaces it."""
    user.send_models_to(model.anthropic_url)
    ask = f'sapwood run -p "What is 6 x 7?" --model {_MODEL}'
    user.runs(f"echo {_WRONG} | sapwood config key anthropic", "Stored in")
    user.runs(ask, "Anthropic rejected the API key", "sapwood config key anthropic", code=3)
    user.runs(f"echo {RIGHT} | sapwood config key anthropic", "Stored in")
    user.runs(ask, "It is 42.")


def no_network(user: Newcomer, _: ScriptedModel) -> None:
    """The provider's real address, where no way leads out: the error names it and says to check."""
    user.runs(f"echo {_WRONG} | sapwood config key anthropic", "Stored in")
    user.runs(f"sapwood config set model {_MODEL}", f"model = {_MODEL}")
    wanted = ("api.anthropic.com cannot be reached", "Check the network")
    user.runs('sapwood run -p "What is 6 x 7?"', *wanted, code=7)
    user.types("sapwood")
    user.sees("Message, or / for commands", "What is 6 x 7?", *wanted)
    user.types("/start")
    user.sees("sends what you type")
    user.types("Where do herons nest?")
    user.sees("Where do herons nest?", *wanted)


def unknown_model(user: Newcomer, _: ScriptedModel) -> None:
    """A mistyped name is questioned before it is stored, and the right one is close by."""
    user.runs('sapwood run -p "Hello" --model gtp-5', "no model 'gtp-5'", "gpt-5", code=3)
    user.types("sapwood")
    user.sees("Welcome to Sapwood")
    user.types("claude-sonet-5-5")
    user.sees("does not list a model 'claude-sonet-5-5'", "Did you mean", "use it anyway")
    user.presses("C-u")
    user.types("claude-sonnet-5-5")
    user.sees("Paste your API key for Anthropic")


def full_disk(user: Newcomer, model: ScriptedModel) -> None:
    """Nothing is lost silently, no traceback, one exit code; it works again when there is space."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_FULL}", "first-minute", str(user.home)]
    subprocess.run(mount, check=True)
    try:
        user.project.mkdir()
        user.send_models_to(model.anthropic_url)
        user.runs(f'cd "{user.project}"')
        user.runs(f"echo {RIGHT} | sapwood config key anthropic", "Stored in")
        user.runs("dd if=/dev/zero of=filler bs=1k 2> /dev/null", code=1)
        ask = f'sapwood run -p "What is 6 x 7?" --model {_MODEL}'
        for _ in range(2):
            user.runs(ask, "There is no disk space left", "Free some space", code=4)
        user.runs("sapwood", "There is no disk space left", "Free some space", code=4)
        user.runs(f"rm filler; mount -o remount,size=64m '{user.home}'")
        user.runs(ask, "It is 42.")
    finally:
        user.close()
        subprocess.run(["umount", "--lazy", str(user.home)], check=True)


def escape_everywhere(user: Newcomer, model: ScriptedModel) -> None:
    """Esc leads one step back from every page of the first run, and never out of the program."""
    user.send_models_to(model.anthropic_url)
    user.types("sapwood")
    user.sees("Welcome to Sapwood")
    user.presses("Enter")
    user.sees("Paste your API key for Anthropic", "esc goes back")
    user.presses("Escape")
    user.sees("Welcome to Sapwood", "claude-sonnet-5-5")
    user.presses("Up", "Enter")
    user.sees("Address and model", "esc goes back")
    user.presses("Escape")
    user.sees("Welcome to Sapwood", "claude-sonnet-5-5")
    user.presses("Escape")
    user.terminal.misses("Welcome to Sapwood")
    user.types("Where do herons nest?")
    user.sees("No model is set", "/model")
    user.sees("Welcome to Sapwood")
    user.presses("Escape")
    user.sees("Where do herons nest?")
    if "newcomer$" in user.terminal.screen().rstrip().splitlines()[-1]:
        raise Failed("Esc has ended the program")


def no_session(user: Newcomer, _: ScriptedModel) -> None:
    """Commands for sessions of other programs say that this folder has none, and what has."""
    for command in ("sapwood clear 1", "sapwood undo"):
        user.runs(command, "There is no Claude Code, Codex,", "Name one with --session ID", code=8)
