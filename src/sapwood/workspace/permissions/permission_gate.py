"""Asks a person for permission where the rules want it, and remembers the answers.

If no person can be asked, such a call is denied: an agent without supervision can read but not
change anything.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, Protocol
from weakref import WeakValueDictionary

from msgspec import Struct, structs

from sapwood.core.ids import AgentId
from sapwood.core.settings import PermissionMode
from sapwood.workspace.permissions.permission_decision import (
    NOT_COVERED,
    FetchAction,
    FileAction,
    PermissionDecision,
    ShellAction,
    ToolAction,
    decide_permission,
    prefix_rule,
)
from sapwood.workspace.permissions.permission_rules import PermissionRules, is_for_command_line
from sapwood.workspace.permissions.shell_commands import simple_commands
from sapwood.workspace.tool_output import ToolBlocked, ToolError

_ONE_WORD = re.compile(r"[\w.~+/=:@%,^-]+")
_KEY_LINES = re.compile(r"[+ -]?-----BEGIN [A-Z ]+-----(?:\s[+ -]?[A-Za-z0-9+/= -]+)*\s*")
_ACTIVE_SECRET = (
    "The command was not run. It contains a secret with special shell characters, so it cannot be "
    "shown for approval. Read the secret from a file or a variable instead."
)


class PermissionOffer(Struct, frozen=True):
    """One way to say yes: which rules it adds, and in words what it allows from then on."""

    kind: Literal["once", "exact", "prefix"]
    grants: str
    rules: PermissionRules = ()

    @property
    def answer(self) -> "PermissionAnswer":
        """The answer that takes this offer."""
        return AllowAlways(self.rules) if self.rules else AllowOnce()


class PermissionQuestion(Struct, frozen=True):
    """Asks whether a tool may do something.

    `preview` shows what would be done: a command line, or the lines of a file that change. `folder`
    is where a command would run, in the workspace; empty for its top. `always` are the rules that
    the answer `AllowAlways` adds, if there are such. `offers` are the ways to allow it, the
    narrowest first. `call` is the tool call, which can start again after the answer; '' if it
    cannot. `held`: only the process that asks has the exact text of the call, because of a secret.
    `choices` are the answers that a model offers to a question of its own: nothing is allowed then,
    and the answer is a `Reply`.
    """

    agent: AgentId
    workspace: str
    tool: str
    subject: str
    why: str
    preview: str = ""
    always: PermissionRules = ()
    folder: str = ""
    offers: tuple[PermissionOffer, ...] = ()
    call: str = ""
    held: bool = False
    choices: tuple[str, ...] = ()

    def typed_answer(self, text: str) -> "PermissionAnswer | None":
        """The answer that a person typed as a text: yes, always or no with a reason.

        To a question of a model, the number of a choice or any other text. None if it is none.
        """
        word, _, reason = text.partition(" ")
        if self.choices:
            place = int(text) if text.isascii() and text.isdigit() else 0
            picked = self.choices[place - 1] if 0 < place <= len(self.choices) else text
            return Reply(picked) if picked else None
        match word:
            case "yes":
                return AllowOnce()
            case "always":
                return AllowAlways(self.always)
            case "no":
                return Deny(reason)
            case _:
                return None


class AllowOnce(Struct, frozen=True, tag="once"):
    """Allows this one call."""


class AllowAlways(Struct, frozen=True, tag="always"):
    """Allows this call and adds rules: these, or those that the question offers."""

    rules: PermissionRules = ()


class Deny(Struct, frozen=True, tag="no"):
    """Denies the call. The model gets the reason."""

    reason: str = ""


class Reply(Struct, frozen=True, tag="reply"):
    """Answers a question of the model. The model gets the text."""

    text: str


PermissionAnswer = AllowOnce | AllowAlways | Deny | Reply
AskPermission = Callable[[PermissionQuestion], Awaitable[PermissionAnswer]]
"""Asks the person who may decide. It is cancelled when the turn is interrupted."""


class NobodyAnswers(Exception):
    """Nobody answered the question in time."""


Grants = Callable[[AgentId], Awaitable[PermissionRules]]
"""The rules that a person granted to an agent beforehand. They never override a 'deny'."""


class ProjectRules(Protocol):
    """The rules that a person gave for a project, which last longer than the process."""

    def rules(self, workspace: str) -> PermissionRules:
        """The rules of this workspace, as they are now."""
        ...

    def add(self, workspace: str, rules: PermissionRules) -> None:
        """Adds rules. Raises `OSError` if they cannot be kept."""
        ...


class _SessionRules:
    """Rules that end with the process."""

    def __init__(self) -> None:
        self._rules: dict[str, PermissionRules] = {}

    def rules(self, workspace: str) -> PermissionRules:
        return self._rules.get(workspace, ())

    def add(self, workspace: str, rules: PermissionRules) -> None:
        self._rules[workspace] = tuple(dict.fromkeys((*self.rules(workspace), *rules)))


class PermissionGate:
    """Decides about calls, and asks a person if needed.

    Rules of an `AllowAlways` answer count for all agents of the workspace. They are kept in
    `project`, without it until the process ends. A question shows secrets masked; `secrets` are
    values that are always secret.
    """

    def __init__(
        self,
        rules: PermissionRules = (),
        approve: AskPermission | None = None,
        grants: Grants | None = None,
        project: ProjectRules | None = None,
        secrets: Sequence[str] = (),
    ) -> None:
        self._secrets = tuple(secrets)
        self._rules = rules
        self._approve = approve
        self._grants = grants
        self._project = project or _SessionRules()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def granted_to(self, agent: AgentId) -> PermissionRules:
        """The rules that were granted to this agent beforehand."""
        return await self._grants(agent) if self._grants else ()

    def decision(
        self,
        action: ToolAction,
        workspace: str,
        granted: PermissionRules = (),
        mode: PermissionMode = "ask",
    ) -> PermissionDecision:
        """The decision by rules, grants, earlier answers and the mode, without a question."""
        project = self._project.rules(workspace)
        forbidding = tuple(rule for rule in project if rule.verdict != "allow")
        allowing = tuple(rule for rule in project if rule.verdict == "allow")
        return decide_permission(action, forbidding + self._rules, granted + allowing, mode)

    async def require(
        self,
        action: ToolAction,
        agent: AgentId,
        workspace: str,
        preview: str = "",
        mode: PermissionMode = "ask",
        call: str = "",
    ) -> None:
        """Returns if the action is allowed, if needed after a question.

        `call` is the tool call, if it can start again after the answer. Raises `ToolBlocked` if
        rules or the mode do not allow it, or if nobody can be asked, `ToolError` if the person says
        no, and `AnswerAwaited` if the answer may take long.
        """
        granted = await self.granted_to(agent)
        decision = self.decision(action, workspace, granted, mode)
        if decision.verdict == "allow":
            return
        if decision.verdict == "deny":
            raise ToolBlocked(*_denied(action, decision))
        if self._approve is None:
            raise ToolBlocked(*_nobody_can_be_asked(action, decision))
        lock = self._locks.setdefault(workspace, asyncio.Lock())
        async with lock:  # one question at a time, because its answer may settle the next one
            decision = self.decision(action, workspace, granted, mode)
            if decision.verdict != "allow":
                await self._ask(action, agent, workspace, preview, decision, call)

    async def _ask(
        self,
        action: ToolAction,
        agent: AgentId,
        workspace: str,
        preview: str,
        decision: PermissionDecision,
        call: str,
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
            _folder(action),
            _offers(action, decision, workspace),
            call,
        )
        question = await asyncio.to_thread(_masked, question, action, self._secrets)
        try:
            answer = await self._approve(question)
        except NobodyAnswers:
            raise ToolBlocked(*_nobody_can_be_asked(action, decision)) from None
        match answer:
            case AllowOnce():
                pass
            case AllowAlways(rules):
                self._project.add(workspace, rules or question.always)
            case Deny(reason) | Reply(reason):
                because = f": {reason}" if reason else "."
                raise ToolError(f"{action.tool} did not run. The user said no{because}")


def _masked(
    question: PermissionQuestion, action: ToolAction, secrets: Sequence[str]
) -> PermissionQuestion:
    """The question with its secrets masked, so that it can be shown and stored.

    A mask must hide no more than a secret. A part that looks like one but could do something, such
    as `PASSWORD=a;rm`, stays visible. In a command it is refused, because questions are stored.
    """
    from sapwood.redaction import find_secrets, mask_secrets  # nobody is asked at start-up

    if isinstance(action, ShellAction):
        found = find_secrets(action.command, secrets)
        if not all(_is_inert(action.command[each.start : each.end]) for each in found):
            raise ToolError(_ACTIVE_SECRET)
    subject = mask_secrets(question.subject, secrets, only=_is_inert)
    preview = mask_secrets(question.preview, secrets, only=_is_inert)
    if (subject, preview) == (question.subject, question.preview):
        return question
    why = f"{question.why} Secrets are masked in this question; the tool gets the exact text."
    return structs.replace(
        question,
        subject=subject,
        preview=preview,
        why=why,
        always=(),
        offers=question.offers[:1],
        held=True,
    )


def _is_inert(value: str) -> bool:
    """Whether a shell would read the value as a part of one word; or it is lines of a key."""
    return _ONE_WORD.fullmatch(value) is not None or _KEY_LINES.fullmatch(value) is not None


def _offers(
    action: ToolAction, decision: PermissionDecision, workspace: str
) -> tuple[PermissionOffer, ...]:
    """The ways to allow an action, and what each of them grants."""
    offers = [PermissionOffer("once", "Only this call.")]
    if decision.remedy:
        what = _covered(action, decision.remedy)
        offers.append(
            PermissionOffer("exact", f"{what} From now on in {workspace}.", decision.remedy)
        )
    prefix = prefix_rule(action)
    if prefix is not None and len(decision.remedy) == 1:
        stem = prefix.pattern.removesuffix(" *")
        what = f"Every command that starts with '{stem}', with any arguments, {_where(action)}."
        offers.append(PermissionOffer("prefix", f"{what} From now on in {workspace}.", (prefix,)))
    return tuple(offers)


def _covered(action: ToolAction, rules: PermissionRules) -> str:
    match action:
        case ShellAction():
            if len(rules) > 1:
                return f"Each of these commands, {_where(action)}."
            commands = len(simple_commands(action.command) or ())
            is_whole = any(is_for_command_line(rule, action.command) for rule in rules)
            if commands > 1 and is_whole:
                return (
                    f"Exactly this line, but not its {commands} commands on their own, "
                    f"{_where(action)}."
                )
            return f"Exactly this command, {_where(action)}."
        case FileAction():
            verb = "Reading" if action.reads else "Any change to"
            return f"{verb} exactly this file with {action.tool}."
        case FetchAction():
            return f"Every page of {action.place}."
        case _:
            return f"Every call to {action.tool}, with any arguments."


def _folder(action: ToolAction) -> str:
    return action.folder if isinstance(action, ShellAction) and action.folder != "." else ""


def _where(action: ToolAction) -> str:
    folder = _folder(action)
    return f"in the folder {folder}" if folder else "in the workspace's own folder"


def _subject(action: ToolAction) -> str:
    match action:
        case FileAction():
            return action.path
        case ShellAction():
            return action.command
        case FetchAction():
            return action.url
        case _:
            return ""


def _denied(action: ToolAction, decision: PermissionDecision) -> tuple[str, str]:
    """The message for the model, and the line for the person who reads the output of a script."""
    blocked = f"{action.tool} was blocked: {_uncapitalized(decision.why)}"
    is_outside = isinstance(action, FileAction) and action.is_outside
    is_outside = is_outside or (isinstance(action, FetchAction) and action.is_private)
    if is_outside and decision.remedy:
        flags = _flags(decision)
        allowed = f"{blocked} Only the user can allow it, with {flags}"
        return allowed, f"{blocked} Allow it with {flags}"
    return f"{blocked} Find another way, or ask the user.", blocked


def _nobody_can_be_asked(action: ToolAction, decision: PermissionDecision) -> tuple[str, str]:
    why = "" if decision.why == NOT_COVERED else f" {decision.why}"
    blocked = f"{action.tool} was blocked: it needs approval and nobody can approve it here.{why}"
    if not decision.remedy:
        return f"{blocked} Find another way, or ask the user.", blocked
    flags = _flags(decision)
    return f"{blocked} The user can allow it with {flags}", f"{blocked} Allow it with {flags}"


def _flags(decision: PermissionDecision) -> str:
    """The options of `sapwood run` that would allow it, with a full stop at the end."""
    return " ".join(f"--allow {_quoted(rule.target)}" for rule in decision.remedy) + "."


def _uncapitalized(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
