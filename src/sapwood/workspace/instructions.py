"""What a model gets before the user's own system prompt: where it works, and AGENTS.md, CLAUDE.md.

The texts are stored with the prompt that they were read for. Requests are built from what is
stored, never from the files.
"""

import os
import platform
import re
from datetime import date, datetime

from sapwood.core.events import InstructionText
from sapwood.core.settings import Workspace
from sapwood.core.view.frames import DEFAULT_PROMPT
from sapwood.workspace.safe_paths import locate, open_file, root_of
from sapwood.workspace.tool_output import ToolError

FILES = ("AGENTS.md", "CLAUDE.md")
"""The files with instructions, in the order in which the model gets them."""

LARGEST = 40_000
"""The most bytes of one file that are read: they are in every request."""

_LINE = 4_096
_OF_OTHERS = frozenset({"node_modules", "site-packages", "third_party", "vendor"})
# Nothing else is taken from the file: it may be a link to a private one.
_HEAD = re.compile(r"ref: refs/heads/(?P<branch>[!-~]{1,200})|(?P<commit>[0-9a-f]{40,64})")


def read_instructions(
    workspace: Workspace, *, default_prompt: bool = True, files: bool = True, git: bool = True
) -> tuple[InstructionText, ...] | None:
    """Reads the texts as they are now. Returns None if both are switched off.

    Without `git`, the branch is left out: a file of the workspace may name a repository elsewhere.
    """
    if not default_prompt and not files:
        return None
    try:
        root = root_of(workspace)
    except ToolError:  # it has no folder, or the folder was deleted
        root = ""
    texts: list[InstructionText] = []
    if default_prompt:
        today = datetime.now().astimezone().date()
        texts.append(InstructionText(DEFAULT_PROMPT, default_prompt_of(root, today, git=git)))
    if files and root:
        texts += _file_texts(root)
    return tuple(texts)


def nested_instructions(root: str, path: str) -> tuple[tuple[str, str], ...]:
    """The instructions in the folders between the workspace's own and a file: paths and texts.

    Folders with the code of others, and hidden ones, have none.
    """
    found: dict[str, str] = {}
    folder = ""
    for part in path.split("/")[:-1]:
        if part.startswith(".") or part in _OF_OTHERS:
            break
        folder = f"{folder}{part}/"
        for name in FILES:
            text = "" if f"{folder}{name}" == path else read_text(root, f"{folder}{name}")
            if text and text not in found:
                found[text] = f"{folder}{name}"
    return tuple([(name, text) for text, name in found.items()])


def default_prompt_of(root: str, today: date, *, git: bool = True) -> str:
    """The default prompt: folder, date, system and git branch.

    >>> print(default_prompt_of("", date(2026, 5, 1)).splitlines()[1])
    Date: 2026-05-01
    """
    lines = ["You help the user of this computer. When you started:", f"Date: {today.isoformat()}"]
    lines.append(f"System: {platform.system()} {platform.machine()}".rstrip())
    if root:
        lines.append(f"Folder: {_visible(root)}")
        lines += [f"Git: {_git_state(root)}"] if git else []
    return "\n".join(lines)


def _file_texts(root: str) -> list[InstructionText]:
    """The files that exist. The same text under two names is taken once."""
    found: dict[str, str] = {}
    for name in FILES:
        text = read_text(root, name)
        if text.strip() and text not in found:
            found[text] = name
    return [InstructionText(name, text) for text, name in found.items()]


def read_text(root: str, name: str, *, leaves: bool = False) -> str:
    """The text of a file below `root`; empty if there is none.

    A link out of `root` counts as none, unless `leaves`.
    """
    try:
        place = locate(root, name)
        if not place.is_inside and not leaves:
            return ""
        with open_file(place) as file:
            data = file.read(LARGEST + 1)
    except (OSError, ToolError):
        return ""
    text = data[:LARGEST].decode("utf-8", errors="replace" if len(data) <= LARGEST else "ignore")
    text = text.strip()
    if len(data) > LARGEST:
        text += f"\n\n[{name} is longer than {LARGEST:,} bytes. The rest was left out.]"
    return text


def _git_state(root: str) -> str:
    """The branch of the repository that the folder is in, read without starting git."""
    folder = root
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return "no repository"
        folder = above
    git = os.path.join(folder, ".git")
    if os.path.isfile(git):  # a linked worktree or a submodule
        git = os.path.join(folder, _first_line(git).removeprefix("gitdir:").strip())
    head = _HEAD.fullmatch(_first_line(os.path.join(git, "HEAD")))
    if head is None:
        return "a repository whose branch cannot be read"
    return f"branch {head['branch']}" if head["branch"] else f"commit {head['commit'][:12]}"


def _first_line(path: str) -> str:
    """The first line of a regular file, else nothing: opening a pipe would wait forever."""
    try:
        if not os.path.isfile(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline(_LINE).strip()
    except (OSError, ValueError):
        return ""


def _visible(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)
