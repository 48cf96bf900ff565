"""Permissions: how Codex is told what it may do, and how its questions are asked and answered."""

import shlex
from typing import Any

import msgspec
from msgspec import Struct

from sapwood.core.settings import PermissionMode
from sapwood.programs.agent_provider import ProviderAnswer, ProviderQuestion
from sapwood.programs.codex.app_server import ServerRequest


class PermissionParams(Struct, frozen=True):
    """When Codex asks, and its sandbox."""

    approval: str
    sandbox: str


_PARAMS: dict[PermissionMode, PermissionParams] = {
    "ask": PermissionParams("untrusted", "workspace-write"),
    "accept-edits": PermissionParams("untrusted", "workspace-write"),
    "plan": PermissionParams("never", "read-only"),
    "read-only": PermissionParams("never", "read-only"),
    "all": PermissionParams("never", "danger-full-access"),
}


def permission_params(mode: PermissionMode) -> PermissionParams:
    """The approval policy and the sandbox of a permission mode.

    >>> permission_params("read-only").sandbox
    'read-only'
    """
    return _PARAMS[mode]


class Asked(Struct, frozen=True):
    """A question of Codex: what the user is asked, and the answers that Codex takes."""

    request: ServerRequest
    question: ProviderQuestion
    allow: dict[str, Any]
    deny: dict[str, Any]
    is_edit: bool = False


class _Params(Struct, rename="camel"):
    item_id: str = ""
    command: str | None = None
    cwd: str | None = None
    reason: str | None = None
    grant_root: str | None = None
    permissions: msgspec.Raw = msgspec.Raw(b"{}")
    network_approval_context: msgspec.Raw = msgspec.Raw(b"null")


_decode = msgspec.json.Decoder(_Params).decode


def ask(request: ServerRequest, name: str, changes: str, folder: str) -> Asked | None:
    """The question for the user, by a name of its own; None if only a refusal is safe.

    `changes` are the changes of files that the item wants to make, as far as they are known.
    """
    try:
        params = _decode(request.params)
    except msgspec.MsgspecError:
        return None
    arguments = bytes(request.params).decode("utf-8", "replace")
    identity = (name, params.item_id or f"{request.id}")
    match request.method:
        case "item/commandExecution/requestApproval":
            command = _shown_command(params.command or "")
            subject = (
                command or f"network access: {bytes(params.network_approval_context).decode()}"
            )
            question = ProviderQuestion(
                *identity,
                tool="exec_command",
                subject=subject,
                preview="\n".join(filter(None, (subject, params.reason))),
                arguments=arguments,
                folder=params.cwd or folder,
            )
            return Asked(request, question, {"decision": "accept"}, {"decision": "decline"})
        case "item/fileChange/requestApproval":
            subject = changes.split("\n", 1)[0] or params.grant_root or "a change of files"
            preview = "\n".join(filter(None, (params.reason, changes)))
            if params.grant_root:
                preview = f"Codex asks to write anywhere below {params.grant_root}.\n{preview}"
            question = ProviderQuestion(
                *identity, "apply_patch", subject, preview, arguments, folder
            )
            edit = not params.grant_root
            return Asked(request, question, {"decision": "accept"}, {"decision": "decline"}, edit)
        case "item/permissions/requestApproval":
            wanted = bytes(params.permissions).decode("utf-8", "replace")
            question = ProviderQuestion(
                *identity,
                tool="request_permissions",
                subject=params.reason or wanted,
                preview=wanted,
                arguments=arguments,
                folder=params.cwd or folder,
            )
            granted = {"permissions": msgspec.json.decode(params.permissions), "scope": "turn"}
            return Asked(request, question, granted, {"permissions": {}, "scope": "turn"})
        case _:
            return None


def _shown_command(command: str) -> str:
    """The command without the shell that Codex puts in front of it.

    >>> _shown_command("/bin/bash -lc 'touch x && echo done'")
    'touch x && echo done'
    """
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    is_shell = len(words) == 3 and words[0].rsplit("/", 1)[-1] in ("bash", "sh", "zsh")
    return words[2] if is_shell and words[1] in ("-c", "-lc") else command


def answer_for(asked: Asked, answer: ProviderAnswer) -> dict[str, Any]:
    """What Codex is answered. It has no place for a reason."""
    return asked.allow if answer.allowed else asked.deny


_SAFE_ANSWERS: dict[str, dict[str, Any]] = {
    "item/tool/requestUserInput": {"answers": {}},
    "mcpServer/elicitation/request": {"action": "decline"},
    "item/tool/call": {
        "success": False,
        "contentItems": [{"type": "inputText", "text": "This tool is not available here."}],
    },
    "applyPatchApproval": {"decision": "denied"},
    "execCommandApproval": {"decision": "denied"},
}


def safe_answer(method: str) -> dict[str, Any] | None:
    """The answer to a question that cannot be shown to the user; None if there is none."""
    return _SAFE_ANSWERS.get(method)
