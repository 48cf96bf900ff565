"""Asks a person for permission where the rules want it, and remembers the answers.

If no person can be asked, such a call is denied: an agent without supervision can read but not
change anything.
"""

import asyncio
from collections.abc import Awaitable, Callable
from weakref import WeakValueDictionary

from msgspec import Struct

from sapwood.core.ids import AgentId
from sapwood.workspace.permissions.permission_rules import (
    FileAction,
    PermissionDecision,
    PermissionRules,
    ShellAction,
    ToolAction,
    decide_permission,
)
from sapwood.workspace.tool_output import ToolError

__all__ = [
    "AllowAlways",
    "AllowOnce",
    "AskPermission",
    "Deny",
    "Grants",
    "PermissionAnswer",
    "PermissionGate",
    "PermissionQuestion",
]


class PermissionQuestion(Struct, frozen=True):
    """Asks whether a tool may do something.

    `preview` shows what would be done: a command line, or the lines of a file that change. `folder`
    is where a command would run, in the workspace; empty for its top. `always` are the rules that
    the answer `AllowAlways` adds, if there are such.
    """

    agent: AgentId
    workspace: str
    tool: str
    subject: str
    why: str
    preview: str = ""
    always: PermissionRules = ()
    folder: str = ""


class AllowOnce(Struct, frozen=True, tag="once"):
    """Allows this one call."""


class AllowAlways(Struct, frozen=True, tag="always"):
    """Allows this call and adds rules: these, or those that the question offers."""

    rules: PermissionRules = ()


class Deny(Struct, frozen=True, tag="no"):
    """Denies the call. The model gets the reason."""

    reason: str = ""


PermissionAnswer = AllowOnce | AllowAlways | Deny
AskPermission = Callable[[PermissionQuestion], Awaitable[PermissionAnswer]]
"""Asks the person who may decide. It is cancelled when the turn is interrupted."""


Grants = Callable[[AgentId], Awaitable[PermissionRules]]
"""The rules that a person granted to an agent beforehand. They never override a 'deny'."""


class PermissionGate:
    """Decides about calls, and asks a person if needed.

    Rules of an `AllowAlways` answer count for all agents of the workspace.
    """

    def __init__(
        self,
        rules: PermissionRules = (),
        approve: AskPermission | None = None,
        grants: Grants | None = None,
    ) -> None:
        self._rules = rules
        self._approve = approve
        self._grants = grants
        self._granted: dict[str, PermissionRules] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def granted_to(self, agent: AgentId) -> PermissionRules:
        """The rules that were granted to this agent beforehand."""
        return await self._grants(agent) if self._grants else ()

    def decision(
        self, action: ToolAction, workspace: str, granted: PermissionRules = ()
    ) -> PermissionDecision:
        """The decision by rules, grants and earlier answers, without a question."""
        return decide_permission(action, self._rules, granted + self._granted.get(workspace, ()))

    async def require(
        self,
        action: ToolAction,
        agent: AgentId,
        workspace: str,
        preview: str = "",
        folder: str = "",
    ) -> None:
        """Returns if the action is allowed, if needed after a question; else raises `ToolError`."""
        granted = await self.granted_to(agent)
        decision = self.decision(action, workspace, granted)
        if decision.verdict == "allow":
            return
        if decision.verdict == "deny":
            raise ToolError(_denied(action, decision))
        if self._approve is None:
            raise ToolError(_nobody_can_be_asked(action, decision))
        lock = self._locks.setdefault(workspace, asyncio.Lock())
        async with lock:  # one question at a time, because its answer may settle the next one
            decision = self.decision(action, workspace, granted)
            if decision.verdict != "allow":
                await self._ask(action, agent, workspace, preview, folder, decision)

    async def _ask(
        self,
        action: ToolAction,
        agent: AgentId,
        workspace: str,
        preview: str,
        folder: str,
        decision: PermissionDecision,
    ) -> None:
        assert self._approve is not None
        subject = _subject(action)
        question = PermissionQuestion(
            agent,
            workspace,
            action.tool,
            subject,
            decision.why,
            preview or subject,
            decision.remedy,
            folder,
        )
        match await self._approve(question):
            case AllowOnce():
                pass
            case AllowAlways(rules):
                added = rules or question.always
                self._granted[workspace] = self._granted.get(workspace, ()) + added
            case Deny(reason):
                because = f": {reason}" if reason else "."
                raise ToolError(f"{action.tool} did not run. The user said no{because}")


def _subject(action: ToolAction) -> str:
    match action:
        case FileAction():
            return action.path
        case ShellAction():
            return action.command
        case _:
            return ""


def _denied(action: ToolAction, decision: PermissionDecision) -> str:
    refused = f"{action.tool} did not run. {decision.why}"
    if isinstance(action, FileAction) and action.is_outside and decision.remedy:
        return f"{refused} Only the user can allow it, with the rule '{decision.remedy[0]}'."
    return f"{refused} Find another way, or ask the user."


def _nobody_can_be_asked(action: ToolAction, decision: PermissionDecision) -> str:
    refused = f"{action.tool} did not run. {decision.why} No person can be asked."
    if not decision.remedy:
        return f"{refused} Find another way, or ask the user."
    rules = ", ".join(f"'{rule}'" for rule in decision.remedy)
    flags = " ".join(f"--allow {_quoted(rule.target)}" for rule in decision.remedy)
    return f"{refused} The user can allow it with the rule {rules}, or by starting with {flags}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
