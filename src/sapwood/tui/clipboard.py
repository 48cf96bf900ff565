"""Copying, with a sentence on what really happened: nothing is claimed that was not seen."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence

from textual.app import App

__all__ = ["copiers", "copy"]

_SECONDS = 2.0


def copiers(environ: Mapping[str, str] = os.environ) -> list[tuple[str, Sequence[str]]]:
    """Programs that take a text and say whether they did, for where we are, best first."""
    found: list[tuple[str, Sequence[str]]] = []
    if environ.get("SSH_CONNECTION"):  # a clipboard over there is of no use to anybody
        environ = {name: value for name, value in environ.items() if name == "TMUX"}
    if environ.get("WAYLAND_DISPLAY"):
        found.append(("the clipboard", ("wl-copy",)))
    if environ.get("DISPLAY"):
        found.append(("the clipboard", ("xclip", "-selection", "clipboard")))
        found.append(("the clipboard", ("xsel", "--clipboard", "--input")))
    if "TMUX" in environ:
        found.append(("tmux's buffer", ("tmux", "load-buffer", "-w", "-")))
    found.append(("the clipboard", ("pbcopy",)))
    return [each for each in found if shutil.which(each[1][0])]


def copy(app: App[object], text: str, environ: Mapping[str, str] = os.environ) -> str:
    """Copies, and says how it went."""
    size = f"{len(text):,} character{'' if len(text) == 1 else 's'}"
    for place, command in copiers(environ):
        try:
            done = subprocess.run(
                command, input=text.encode(), capture_output=True, timeout=_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            return f"Copied {size} to {place}."
    app.copy_to_clipboard(text)
    return f"Sent {size} to the terminal, which does not say whether it took them."
