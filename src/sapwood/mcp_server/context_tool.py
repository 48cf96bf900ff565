"""The tool `context`: its schema and its answers, from the same declaration as the command line."""

from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from sapwood.app.config import Config
from sapwood.app.gardening.errand import ACTIONS, Action, Errand
from sapwood.core.calling import ToolOutcome

__all__ = ["CONTEXT", "ContextTool", "context_description", "context_schema"]

CONTEXT = "context"
_WIDTH = 100


class _Asked(Errand, frozen=True, forbid_unknown_fields=True):
    """An errand as a program asks for it, which has no folder of its own and may want JSON."""

    folder: Annotated[
        str, Meta(description="The project's folder; else the one the server was started in")
    ] = ""
    json: Annotated[bool, Meta(description="Answer with JSON instead of text")] = False


def context_schema() -> dict[str, Any]:
    """The arguments of the tool."""
    found = msgspec.json.schema(_Asked)["$defs"]["_Asked"]
    names = [action.name for action in ACTIONS]
    found["properties"]["action"] = {"type": "string", "enum": names}
    return {
        name: found[name] for name in ("type", "properties", "required", "additionalProperties")
    }


def context_description() -> str:
    """What the tool does, action by action."""
    about = "Look after the context of this session: see what fills it, keep what matters."
    return "\n".join((about, *map(_line, ACTIONS)))


def _line(action: Action) -> str:
    takes = f" ({', '.join(action.takes)})" if action.takes else ""
    return f"{action.name}{takes}: {action.help}."


class ContextTool:
    """Answers calls for whoever works in a folder."""

    def __init__(self, config: Config, folder: Path) -> None:
        self._config = config
        self._folder = folder

    async def call(self, arguments: dict[str, Any]) -> ToolOutcome:
        """What came of an errand. Errors that a caller can mend are raised as they are.

        The gardener is imported at the first call: the server has to be there at once.
        """
        from sapwood.app.gardening.gardener import Gardener
        from sapwood.app.gardening.telling import answer_lines

        try:
            asked = msgspec.convert(arguments, _Asked, strict=False)
        except msgspec.ValidationError as wrong:
            return ToolOutcome(f"The arguments do not fit the tool: {wrong}.", error=True)
        folder = Path(asked.folder) if asked.folder else self._folder
        answer = await Gardener(folder, self._config).do(asked)
        if asked.json:
            return ToolOutcome(msgspec.json.encode(answer).decode())
        return ToolOutcome("\n".join(answer_lines(answer, _WIDTH)))
