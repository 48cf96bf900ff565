"""The tool `context`, made from the same declaration as `sapwood context`."""

import os
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from sapwood.config.config_file import Config
from sapwood.context_actions.context_request import (
    ACTIONS,
    FOR_ALL,
    Action,
    ContextRequest,
    action_named,
)
from sapwood.core.model_calls import ToolOutcome

CONTEXT = "context"
_WIDTH = 100


class _ContextCall(ContextRequest, frozen=True, forbid_unknown_fields=True):
    """The arguments of a call: a request, the folder of another project, and the format."""

    folder: Annotated[
        str,
        Meta(description="The folder of another project; by default the project of the server"),
    ] = ""
    json: Annotated[bool, Meta(description="Answer with JSON instead of text")] = False


_OTHER_PROJECTS = ("folder", *FOR_ALL)
"""The arguments that reach beyond the session and the project of the server."""


def context_schema(*, all_projects: bool = False) -> dict[str, Any]:
    """Returns the JSON schema of the arguments; with `all_projects`, also for other projects."""
    found = msgspec.json.schema(_ContextCall)["$defs"]["_ContextCall"]
    names = [action.name for action in ACTIONS]
    found["properties"]["action"] = {"type": "string", "enum": names}
    if not all_projects:
        for name in _OTHER_PROJECTS:
            del found["properties"][name]
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
    """Answers calls of the tool for the session of the program that started the server.

    Calls read and change that session, and search its project `folder`. With `all_projects`, calls
    that only read may name another folder, session or transcript.
    """

    def __init__(self, config: Config, folder: Path, *, all_projects: bool = False) -> None:
        self._config = config
        self._folder = folder
        self._all_projects = all_projects

    async def call(self, arguments: dict[str, Any]) -> ToolOutcome:
        """Runs the requested action and returns its answer. Raises `SapwoodError` if it fails.

        Imports the actions at the first call, so that the server starts fast.
        """
        from sapwood.app.connection import connect
        from sapwood.context_actions.actions import ContextActions
        from sapwood.context_actions.session_finder import running_session
        from sapwood.display.context_answer_text import answer_lines

        try:
            call = msgspec.convert(arguments, _ContextCall, strict=False)
        except msgspec.ValidationError as error:
            return ToolOutcome(f"The arguments do not fit the tool: {error}.", error=True)
        if refusal := self._refusal(call):
            return ToolOutcome(refusal, error=True)
        actions = ContextActions(
            Path(call.folder) if call.folder else self._folder,
            self._config,
            connect,
            "" if call.folder else running_session(os.environ),
            by_model=True,
            only_project=not self._all_projects,
        )
        answer = await actions.do(call)
        if call.json:
            return ToolOutcome(msgspec.json.encode(answer).decode())
        return ToolOutcome("\n".join(answer_lines(answer, _WIDTH)))

    def _refusal(self, call: _ContextCall) -> str:
        """Says why the call may not name what it names; empty if it may."""
        named = [name for name in _OTHER_PROJECTS if getattr(call, name)]
        if not named:
            return ""
        if not self._all_projects:
            return (
                "This server serves one session of one project, so it does not accept "
                f"'{named[0]}'. The user can allow reading other projects: sapwood mcp "
                "--all-projects"
            )
        if action_named(call.action).acts:
            return f"'{named[0]}' can be given for reading only, not for {call.action}."
        return ""
