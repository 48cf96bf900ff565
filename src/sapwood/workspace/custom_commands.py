"""Custom commands and skills: Markdown files of the user or of the workspace, sent as prompts.

They are read from the folders that agent programs use already. A file is text: nothing in it runs,
and of its front matter only the description, the argument hint and who may use it count.
"""

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Literal, NamedTuple

from msgspec import Struct

from sapwood.core.settings import Workspace
from sapwood.programs.program import user_home
from sapwood.programs.registry import PROGRAM_NAMES, program
from sapwood.workspace.instructions import read_text
from sapwood.workspace.safe_paths import root_of
from sapwood.workspace.tool_output import ToolError

_SHARED = ".agents"
"""The folder that several programs read, in the home and in the workspace."""
_SKILL = "SKILL.md"
CODEX_PREFIX = "prompts:"
"""What Codex has before the names of its prompts."""
_MAX_FILES = 200
_MAX_ABOUT = 500
_MAX_DEPTH = 3
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}")
_FIELD = re.compile(r"([A-Za-z][\w-]*):(?:\s+(.*))?")
_USED = frozenset(
    {"name", "description", "argument-hint", "disable-model-invocation", "user-invocable"}
)
_ARGUMENT = re.compile(r"\$(ARGUMENTS\b|[1-9](?!\d))")
_SHELL = re.compile(r"!`([^`\n]+)`")
_NOT_RUN = (
    "The commands between !` and ` above have not been run. Run those that you need with your "
    "shell tool, and use their output in their place."
)

Kind = Literal["command", "skill"]


class CustomCommand(Struct, frozen=True):
    """A file that a person can send as `/name`, and a model can read if it is a skill.

    `path` is relative in a workspace. `ignored` are the fields of its front matter without effect.
    """

    name: str
    kind: Kind
    about: str
    path: str
    text: str
    hint: str = ""
    ignored: tuple[str, ...] = ()
    for_people: bool = True
    for_models: bool = True

    @property
    def shell_lines(self) -> tuple[str, ...]:
        """The shell commands in the text. Nobody runs them but the model, by its tool."""
        return tuple(_SHELL.findall(self.text))


class _Folder(NamedTuple):
    root: str
    path: str
    kind: Kind
    is_own: bool
    """Whether it is the user's: what links lead to outside of it is read too."""


def custom_commands(
    workspace: Workspace, environ: Mapping[str, str] | None = os.environ
) -> tuple[CustomCommand, ...]:
    """The commands and skills for a workspace, by name; those of the workspace come first.

    Without `environ`, only those of the workspace: the home is that of somebody else.
    """
    found: dict[str, CustomCommand] = {}
    for folder in _folders(workspace, environ):
        for path in _files(folder):
            command = _read(folder, path)
            if command is not None:
                found.setdefault(command.name, command)
    return tuple(sorted(found.values(), key=lambda each: (each.kind, each.name)))


def custom_names(commands: tuple[CustomCommand, ...]) -> frozenset[str]:
    """The words after a slash that mean one of these."""
    names = [each.name for each in commands if each.for_people]
    return frozenset((*names, *(f"{CODEX_PREFIX}{name}" for name in names)))


def skill_list(commands: tuple[CustomCommand, ...]) -> str:
    """What a model is told of the skills: name, description and file of each; empty without any."""
    lines = [
        f"- {each.name}: {each.about} (file: {each.path})"
        for each in commands
        if each.kind == "skill" and each.for_models
    ]
    if not lines:
        return ""
    return "\n".join(
        ("Skills. Before a task that one of them describes, read its file with read_file.", *lines)
    )


def prompt_of(command: CustomCommand, arguments: str) -> str:
    """The prompt: the text of the file with the arguments at their places, or else at its end.

    >>> prompt_of(CustomCommand("fix", "command", "", "fix.md", "Fix $1 in $2."), "'a b' c.py")
    'Fix a b in c.py.'
    >>> prompt_of(CustomCommand("fix", "command", "", "fix.md", "Fix it."), "now")
    'Fix it.\\n\\nArguments: now'
    """
    if command.kind == "skill":
        text = command.text.replace("$ARGUMENTS", arguments)
        text = (
            f"Use the skill '{command.name}'. Its folder: {os.path.dirname(command.path)}\n\n{text}"
        )
    else:
        words = _words(arguments)
        text = _ARGUMENT.sub(lambda found: _argument(found[1], arguments, words), command.text)
    has_places = "$ARGUMENTS" in command.text or (
        command.kind == "command" and _ARGUMENT.search(command.text)
    )
    parts = [text]
    if arguments and not has_places:
        parts.append(f"Arguments: {arguments}")
    if command.shell_lines:
        parts.append(_NOT_RUN)
    return "\n\n".join(parts)


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """The fields at the beginning of a Markdown file, each on one line, and the text after them.

    >>> front_matter("---\\ndescription: >\\n  Two\\n  words\\n---\\nText")
    ({'description': 'Two words'}, 'Text')
    """
    lines = text.splitlines()
    ends = [number for number, line in enumerate(lines) if line.rstrip() == "---"]
    if len(ends) < 2 or ends[0] != 0:
        return {}, text
    fields: dict[str, str] = {}
    name = ""
    for line in lines[1 : ends[1]]:
        if found := _FIELD.fullmatch(line.rstrip()):
            name = found[1].lower()
            value = (found[2] or "").strip()
            fields[name] = "" if value.rstrip("+-") in ("|", ">") else value
        elif name and line.strip():
            fields[name] = f"{fields[name]} {line.strip()}".strip()
    return {each: _unquoted(value) for each, value in fields.items()}, "\n".join(
        lines[ends[1] + 1 :]
    ).strip()


def _unquoted(value: str) -> str:
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if is_quoted else value


def _folders(workspace: Workspace, environ: Mapping[str, str] | None) -> Iterator[_Folder]:
    try:
        root = root_of(workspace)
    except ToolError:  # it has no folder, or the folder was deleted
        root = ""
    known = [program(name) for name in PROGRAM_NAMES]
    if root:
        for each in known:
            if each.command_folder and each.has_project_commands:
                yield _Folder(root, f"{each.home_folder}/{each.command_folder}", "command", False)
            if each.skill_folder:
                yield _Folder(root, f"{each.home_folder}/{each.skill_folder}", "skill", False)
        yield _Folder(root, f"{_SHARED}/skills", "skill", False)
    if environ is not None:
        for each in known:
            home = os.path.realpath(each.home(environ))
            if each.command_folder:
                yield _Folder(home, each.command_folder, "command", True)
            if each.skill_folder:
                yield _Folder(home, each.skill_folder, "skill", True)
        yield _Folder(os.path.realpath(user_home(environ)), f"{_SHARED}/skills", "skill", True)


def _files(folder: _Folder) -> list[str]:
    """The paths of the files below the root, sorted."""
    found: list[str] = []
    _walk(folder, folder.path, 1, found)
    return sorted(found)


def _walk(folder: _Folder, path: str, depth: int, found: list[str]) -> None:
    try:
        with os.scandir(os.path.join(folder.root, path)) as entries:
            names = sorted((each.name, each.is_dir()) for each in entries)
    except OSError:
        return
    for name, is_folder in names:
        if len(found) >= _MAX_FILES:
            return
        if folder.kind == "skill":
            if is_folder and os.path.isfile(os.path.join(folder.root, path, name, _SKILL)):
                found.append(f"{path}/{name}/{_SKILL}")
        elif is_folder and depth < _MAX_DEPTH:
            _walk(folder, f"{path}/{name}", depth + 1, found)
        elif name.endswith(".md") and not is_folder:
            found.append(f"{path}/{name}")


def _read(folder: _Folder, path: str) -> CustomCommand | None:
    """The command of a file; None if it cannot be read, or has no usable name."""
    try:
        state = os.stat(os.path.join(folder.root, path))
    except OSError:
        return None
    return _parsed(folder, path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=1_000)
def _parsed(folder: _Folder, path: str, changed: int, size: int) -> CustomCommand | None:
    """The same, kept until the file changes."""
    text = read_text(folder.root, path, leaves=folder.is_own)
    fields, body = front_matter(text)
    below = path.removeprefix(f"{folder.path}/")
    name = below.removesuffix(f"/{_SKILL}").removesuffix(".md").replace("/", ":")
    if not body or not _NAME.fullmatch(name):
        return None
    about = fields.get("description") or body.lstrip("# ").splitlines()[0]
    return CustomCommand(
        name,
        folder.kind,
        _visible(about)[:_MAX_ABOUT],
        os.path.join(folder.root, path) if folder.is_own else path,
        body,
        _visible(fields.get("argument-hint", ""))[:60],
        tuple(sorted(each for each in fields if each not in _USED)),
        for_people=fields.get("user-invocable", "").lower() != "false",
        for_models=fields.get("disable-model-invocation", "").lower() != "true",
    )


def _visible(text: str) -> str:
    """The text on one line, without control characters."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _words(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:  # an apostrophe in plain words
        return arguments.split()


def _argument(place: str, arguments: str, words: list[str]) -> str:
    if place == "ARGUMENTS":
        return arguments
    return words[int(place) - 1] if int(place) <= len(words) else ""
