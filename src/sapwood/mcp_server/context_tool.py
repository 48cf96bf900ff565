"""The tool `context`, made from the same declaration as `sapwood context`."""

from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from sapwood.config.config_file import Config
from sapwood.context_actions.context_request import ACTIONS, Action, ContextRequest
from sapwood.core.model_calls import ToolOutcome

__all__ = ["CONTEXT", "ContextTool", "context_description", "context_schema"]

CONTEXT = "context"
_WIDTH = 100


class _ContextCall(ContextRequest, frozen=True, forbid_unknown_fields=True):
    """The arguments of a call: a request, the folder of the project, and the format."""

    folder: Annotated[
        str,
        Meta(description="The project folder; by default the server's current folder"),
    ] = ""
    json: Annotated[bool, Meta(description="Answer with JSON instead of text")] = False


def context_schema() -> dict[str, Any]:
    """Returns the JSON schema of the arguments."""
    found = msgspec.json.schema(_ContextCall)["$defs"]["_ContextCall"]
    names = [action.name for action in ACTIONS]
    found["properties"]["action"] = {"type": "string", "enum": names}
    return {
        name: found[name] for name in ("type", "properties", "required", "additionalProperties")
    }


def context_description() -> str:
    """Returns the description of the tool, with a line for each action."""
    about = "Inspect and manage the context of this session: usage, archives, search, handoff."
    return "\n".join((about, *map(_line, ACTIONS)))


def _line(action: Action) -> str:
    takes = f" ({', '.join(action.takes)})" if action.takes else ""
    return f"{action.name}{takes}: {action.help}."


class ContextTool:
    """Answers calls of the tool. `folder` is the project of calls that name none."""

    def __init__(self, config: Config, folder: Path) -> None:
        self._config = config
        self._folder = folder

    async def call(self, arguments: dict[str, Any]) -> ToolOutcome:
        """Runs the requested action and returns its answer. Raises `SapwoodError` if it fails.

        Imports the actions at the first call, so that the server starts fast.
        """
        from sapwood.app.connection import connect
        from sapwood.context_actions.actions import ContextActions
        from sapwood.display.context_answer_text import answer_lines

        try:
            call = msgspec.convert(arguments, _ContextCall, strict=False)
        except msgspec.ValidationError as error:
            return ToolOutcome(f"The arguments do not fit the tool: {error}.", error=True)
        folder = Path(call.folder) if call.folder else self._folder
        answer = await ContextActions(folder, self._config, connect).do(call)
        if call.json:
            return ToolOutcome(msgspec.json.encode(answer).decode())
        return ToolOutcome("\n".join(answer_lines(answer, _WIDTH)))
