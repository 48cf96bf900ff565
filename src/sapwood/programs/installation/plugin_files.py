"""The files of the shipped plugin folder, changed for one installation.

The shipped files call `sapwood` by name. Installed files call it by its path, because a program
that is started from a desktop has another PATH. They do nothing if the path no longer exists.
"""

import json
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

import sapwood

PLUGIN = Path(sapwood.__file__).parent / "plugin"

_BY_NAME = "command -v sapwood >/dev/null || exit 0; exec sapwood "


class InstalledHook(Struct, frozen=True):
    """An event of a program, as the program names it, and the hook that it calls."""

    event: str
    name: str


def own_command() -> tuple[str, ...]:
    """The command that starts this Sapwood: the running program, one on PATH, or Python."""
    running = Path(sys.argv[0])
    if running.name == "sapwood" and running.is_file():
        return (str(running.absolute()),)
    beside = Path(sys.executable).with_name("sapwood")
    if beside.is_file():
        return (str(beside),)
    found = shutil.which("sapwood")
    return (found,) if found else (sys.executable, "-m", "sapwood.cli")


def plugin_version() -> str:
    """The version in the plugin's manifest."""
    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
    return str(manifest["version"])


def plugin_files(command: Sequence[str]) -> dict[str, bytes]:
    """The content of every plugin file by its path in the folder, calling this command."""
    found = {
        path.relative_to(PLUGIN).as_posix(): path.read_bytes()
        for path in sorted(PLUGIN.rglob("*"))
        if path.is_file()
    }
    found["hooks/hooks.json"] = _hooks_with_path(found["hooks/hooks.json"], command)
    found[".mcp.json"] = _server_with_path(found[".mcp.json"], command)
    for name in [each for each in found if each.startswith("commands/")]:
        found[name] = _command_with_path(found[name], command)
    return found


def plugin_hooks(files: Mapping[str, bytes]) -> Iterator[InstalledHook]:
    """The hooks among the files of the plugin."""
    for event, matchers in json.loads(files["hooks/hooks.json"])["hooks"].items():
        for matcher in matchers:
            when = matcher.get("matcher", "").replace("|", ", ")
            for hook in matcher["hooks"]:
                called = hook["command"].rpartition(" hook ")[2]
                yield InstalledHook(f"{event} ({when})" if when else event, called)


def _command_with_path(shipped: bytes, command: Sequence[str]) -> bytes:
    """A slash command that runs this Sapwood, which is also what it is allowed to run.

    The words that its user typed stand in a here-document: what a program puts into a line of a
    shell would be run as a part of it. They cannot end it: its mark has an exclamation mark before
    a backtick, and Claude Code puts a space between these in words. Three backticks end all that
    the shell gets, which Sapwood notices by the last line that is missing then.
    """
    here = shlex.join(command).encode()
    for before in (b"!`", b"```!\n", b"Bash("):
        shipped = shipped.replace(before + b"sapwood ", before + here + b" ")
    return shipped


def _hooks_with_path(shipped: bytes, command: Sequence[str]) -> bytes:
    here = f"test -x {shlex.quote(command[0])} || exit 0; exec {shlex.join(command)} "
    content = json.loads(shipped)
    for matchers in content["hooks"].values():
        for matcher in matchers:
            for hook in matcher["hooks"]:
                hook["command"] = hook["command"].replace(_BY_NAME, here)
    return _encoded(content)


def _server_with_path(shipped: bytes, command: Sequence[str]) -> bytes:
    content = json.loads(shipped)
    server = content["mcpServers"]["sapwood"]
    server["command"] = command[0]
    server["args"] = [*command[1:], *server["args"]]
    return _encoded(content)


def _encoded(content: object) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()
