"""The plugin folder that is shipped, as files for one installation.

The shipped one calls `sapwood` by name. An installed one calls it by its place, because a program
started from a desktop has another PATH, and does nothing once that place is empty.
"""

import json
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import sapwood

__all__ = ["PLUGIN", "own_command", "plugin_files", "plugin_version"]

PLUGIN = Path(sapwood.__file__).parent / "plugin"

_BY_NAME = "command -v sapwood >/dev/null || exit 0; exec sapwood "


def own_command() -> tuple[str, ...]:
    """What starts this Sapwood: the program that runs, one on the path, or the interpreter."""
    running = Path(sys.argv[0])
    if running.name == "sapwood" and running.is_file():
        return (str(running.absolute()),)
    beside = Path(sys.executable).with_name("sapwood")
    if beside.is_file():
        return (str(beside),)
    found = shutil.which("sapwood")
    return (found,) if found else (sys.executable, "-m", "sapwood.cli")


def plugin_version() -> str:
    """The version that the shipped folder says it has."""
    told = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
    return str(told["version"])


def plugin_files(command: Sequence[str]) -> dict[str, bytes]:
    """Every file of the plugin by its place in the folder, calling this command."""
    found = {
        path.relative_to(PLUGIN).as_posix(): path.read_bytes()
        for path in sorted(PLUGIN.rglob("*"))
        if path.is_file()
    }
    found["hooks/hooks.json"] = _placed_hooks(found["hooks/hooks.json"], command)
    found[".mcp.json"] = _placed_server(found[".mcp.json"], command)
    return found


def _placed_hooks(shipped: bytes, command: Sequence[str]) -> bytes:
    here = f"test -x {shlex.quote(command[0])} || exit 0; exec {shlex.join(command)} "
    told = json.loads(shipped)
    for matchers in told["hooks"].values():
        for matcher in matchers:
            for hook in matcher["hooks"]:
                hook["command"] = hook["command"].replace(_BY_NAME, here)
    return _written(told)


def _placed_server(shipped: bytes, command: Sequence[str]) -> bytes:
    told = json.loads(shipped)
    server = told["mcpServers"]["sapwood"]
    server["command"] = command[0]
    server["args"] = [*command[1:], *server["args"]]
    return _written(told)


def _written(told: object) -> bytes:
    return (json.dumps(told, indent=2, ensure_ascii=False) + "\n").encode()
