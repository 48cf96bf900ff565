"""The person who is asked, and the gate that asks.

Without anybody to ask, what would be asked is denied: an agent on its own can look and not touch.
"""

import asyncio
from collections.abc import Awaitable, Callable
from weakref import WeakValueDictionary

from msgspec import Struct

from sapwood.core.ids import AgentId
from sapwood.workspace.errors import ToolError
from sapwood.workspace.permissions.acts import Act, FileAct, ShellAct
from sapwood.workspace.permissions.rules import Decision, Rules, decide

__all__ = ["Always", "Answer", "Approve", "Gate", "Grants", "No", "Once", "Question"]


class Question(Struct, frozen=True):
    """May this tool do this? `always` are the rules that the answer 'always' adds, if any can.

    `preview` shows what would be done: a command line, the lines of a file that change.
    """

    agent: AgentId
    workspace: str
    tool: str
    subject: str
    why: str
    preview: str = ""
    always: Rules = ()


class Once(Struct, frozen=True, tag="once"):
    """Yes, this time."""


class Always(Struct, frozen=True, tag="always"):
    """Yes, and from now on without asking: what the question offers, or these rules."""

    rules: Rules = ()


class No(Struct, frozen=True, tag="no"):
    """No. The reason is told to the model."""

    reason: str = ""


Answer = Once | Always | No
Approve = Callable[[Question], Awaitable[Answer]]
"""Asks whoever may decide. Cancelled when the turn is interrupted."""


Grants = Callable[[AgentId], Awaitable[Rules]]
"""What a person allowed this agent beforehand. It counts like an answer: it overrules no 'deny'."""


class Gate:
    """Lets a call pass or says why not. What was answered 'always' holds for the workspace."""

    def __init__(
        self, rules: Rules = (), approve: Approve | None = None, grants: Grants | None = None
    ) -> None:
        self._rules = rules
        self._approve = approve
        self._grants = grants
        self._granted: dict[str, Rules] = {}
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def granted_to(self, agent: AgentId) -> Rules:
        """What this agent was allowed beforehand."""
        return await self._grants(agent) if self._grants else ()

    def decision(self, act: Act, workspace: str, granted: Rules = ()) -> Decision:
        """What the rules, grants and earlier answers say, without asking anybody."""
        return decide(act, self._rules, granted + self._granted.get(workspace, ()))

    async def require(self, act: Act, agent: AgentId, workspace: str, preview: str = "") -> None:
        """Returns if the act is allowed. Raises `ToolError` if not."""
        granted = await self.granted_to(agent)
        decision = self.decision(act, workspace, granted)
        if decision.verdict == "allow":
            return
        if decision.verdict == "deny":
            raise ToolError(_denied(act, decision))
        if self._approve is None:
            raise ToolError(_nobody_to_ask(act, decision))
        lock = self._turns.setdefault(workspace, asyncio.Lock())
        async with lock:  # one question at a time: the answer may settle the next
            decision = self.decision(act, workspace, granted)
            if decision.verdict != "allow":
                await self._ask(act, agent, workspace, preview, decision)

    async def _ask(
        self, act: Act, agent: AgentId, workspace: str, preview: str, decision: Decision
    ) -> None:
        assert self._approve is not None
        subject = _subject(act)
        question = Question(
            agent, workspace, act.tool, subject, decision.why, preview or subject, decision.remedy
        )
        match await self._approve(question):
            case Once():
                pass
            case Always(rules):
                given = rules or question.always
                self._granted[workspace] = self._granted.get(workspace, ()) + given
            case No(reason):
                said = f": {reason}" if reason else "."
                raise ToolError(f"{act.tool} did not run. The user said no{said}")


def _subject(act: Act) -> str:
    match act:
        case FileAct():
            return act.path
        case ShellAct():
            return act.command
        case _:
            return ""


def _denied(act: Act, decision: Decision) -> str:
    told = f"{act.tool} did not run. {decision.why}"
    if isinstance(act, FileAct) and act.is_outside and decision.remedy:
        return f"{told} Only the user can allow it, with the rule '{decision.remedy[0]}'."
    return f"{told} Find another way, or ask the user."


def _nobody_to_ask(act: Act, decision: Decision) -> str:
    told = f"{act.tool} did not run. {decision.why} Nobody is here to be asked."
    if not decision.remedy:
        return f"{told} Find another way, or ask the user."
    rules = ", ".join(f"'{rule}'" for rule in decision.remedy)
    flags = " ".join(f"--allow {_quoted(rule.target)}" for rule in decision.remedy)
    return f"{told} The user can allow it with the rule {rules}, or by starting with {flags}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
