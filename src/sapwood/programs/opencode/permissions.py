"""Permissions: what opencode is configured to ask, and how its questions are asked and answered."""

from collections.abc import Mapping
from typing import Any  # settings and questions are JSON

import msgspec

from sapwood.core.settings import PermissionMode
from sapwood.programs.agent_provider import ProviderQuestion
from sapwood.programs.opencode.session_log import as_object

_CONFIG = "OPENCODE_CONFIG_CONTENT"
_READING = dict.fromkeys(("read", "glob", "grep", "list", "todowrite", "todoread"), "allow")
_RULES: dict[PermissionMode, dict[str, str]] = {
    "ask": {"*": "ask", **_READING},
    "accept-edits": {"*": "ask", **_READING, "edit": "allow"},
    "plan": {"*": "deny", **_READING},
    "read-only": {"*": "deny", **_READING},
    "all": {"*": "allow"},
}


def permission_environment(mode: PermissionMode, environ: Mapping[str, str]) -> dict[str, str]:
    """The variable by which a server asks as this mode wants; settings that it has stay.

    >>> permission_environment("all", {})
    {'OPENCODE_CONFIG_CONTENT': '{"permission":{"*":"allow"}}'}
    """
    try:
        settings: dict[str, Any] = msgspec.json.decode(
            environ.get(_CONFIG) or "{}", type=dict[str, Any]
        )
    except msgspec.MsgspecError:
        settings = {}
    settings["permission"] = _RULES[mode]
    return {_CONFIG: msgspec.json.encode(settings).decode()}


def question_of(
    asked: Mapping[str, Any], tool: str, arguments: Mapping[str, Any], folder: str
) -> ProviderQuestion:
    """The question for the user. `tool` and `arguments` are those of the call, if it is known."""
    about = as_object(asked.get("metadata"))
    patterns = [str(each) for each in asked.get("patterns") or ()]
    given = arguments.get("command") or arguments.get("filePath") or arguments.get("url")
    subject = str(given or about.get("filepath") or ", ".join(patterns) or asked.get("permission"))
    preview = str(about.get("diff") or subject)
    call = as_object(asked.get("tool"))
    return ProviderQuestion(
        str(asked["id"]),
        str(call.get("callID") or asked["id"]),
        tool or str(asked.get("permission") or "unknown"),
        subject,
        preview,
        msgspec.json.encode(dict(arguments or about)).decode(),
        folder,
    )
