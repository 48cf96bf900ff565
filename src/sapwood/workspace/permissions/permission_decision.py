"""Decides about a tool call by rules, grants and the permission mode. Pure.

The first rule that matches decides. If none does, the mode decides: normally reading in the
workspace is allowed, access outside of it is denied, and everything else needs a question.
"""

from functools import lru_cache

from msgspec import Struct

from sapwood.core.settings import READING_MODES, PermissionMode
from sapwood.workspace.globs import escape
from sapwood.workspace.permissions.denied_words import (
    forms_of,
    forms_of_unclear_line,
    may_be,
    mentions,
    runs_unseen_text,
)
from sapwood.workspace.permissions.guarded_files import why_private, why_runs_programs
from sapwood.workspace.permissions.known_programs import PRINTS
from sapwood.workspace.permissions.permission_rules import (
    PermissionRule,
    PermissionRules,
    Verdict,
    command_pattern,
    covers_command,
    covers_folder,
    covers_host,
    covers_path,
    is_for_all,
    is_for_command_line,
    is_for_exact_path,
    names_tool,
)
from sapwood.workspace.permissions.shell_commands import SimpleCommand, simple_commands
from sapwood.workspace.permissions.wildcards import (
    does_nothing,
    harmless_prefix,
    is_path_inside,
    is_report,
    only_reads,
    plain_forms,
    why_not_covered,
)

NOT_COVERED = "No permission rule covers this."
_UNCLEAR = "Sapwood cannot tell in advance what this command line runs"
_ALLOWED = "A person allowed it."


class FileAction(Struct, frozen=True):
    """Reading or writing at a path, which is relative inside the workspace and absolute outside.

    Rules for `related_tool` count for this tool too: a rule for write_file also allows edit_file.
    `guard` says why only a rule for exactly this path allows it; '' for most paths.
    """

    tool: str
    path: str
    reads: bool
    related_tool: str = ""
    guard: str = ""

    @property
    def is_outside(self) -> bool:
        return self.path.startswith("/")


class ShellAction(Struct, frozen=True):
    """Running a command line in a folder, which is given from the workspace's folder on.

    `astray` are words of the line that lead out of the workspace or to a protected file, by links,
    and files that a `git checkout` in it overwrites.
    `is_confined`: it runs in the sandbox and can do nothing that a checkpoint does not undo, so it
    needs no question. `wants` says what it asks for beyond the sandbox; `must_ask`: no rule and no
    mode allows that, only a person who sees the command.
    """

    tool: str
    command: str
    folder: str = "."
    astray: tuple[str, ...] = ()
    is_confined: bool = False
    wants: str = ""
    must_ask: bool = False


class OtherAction(Struct, frozen=True):
    """Any other call; rules see only its tool."""

    tool: str
    reads: bool = False


class FetchAction(Struct, frozen=True):
    """Reading a page of the web. `place` is the host, with the port if it is not the usual one.

    `is_private`: the host is not on the public internet, so only a rule for exactly it allows it.
    """

    tool: str
    place: str
    url: str
    is_private: bool = False

    @property
    def reads(self) -> bool:
        return True


ToolAction = FileAction | ShellAction | FetchAction | OtherAction


class PermissionDecision(Struct, frozen=True):
    """The verdict, its reason, and the rules that would allow the action, if there are such."""

    verdict: Verdict
    why: str
    remedy: PermissionRules = ()


class _Command(Struct, frozen=True):
    """One command of a line: `parts` is None if it is not known, `folder` if that is not known.

    `is_unseen`: it may run other commands than the line shows. `writes` are the files that it
    writes with `>` and that nothing allows it to write. `together` are all commands of the line.
    `does_nothing`: it changes nothing
    outside the shell, and other commands of the line decide.
    """

    tool: str
    parts: SimpleCommand | None
    forms: tuple[str, ...]
    folder: str | None
    line: ShellAction
    is_unseen: bool = False
    writes: tuple[str, ...] = ()
    together: tuple[SimpleCommand, ...] = ()
    does_nothing: bool = False

    @property
    def text(self) -> str | None:
        """The command, if every word of it is known and it writes no file with `>`."""
        is_whole = self.parts is not None and self.parts.is_known and not self.parts.outputs
        return self.parts.text if self.parts is not None and is_whole else None


def decide_permission(
    action: ToolAction,
    rules: PermissionRules,
    granted: PermissionRules = (),
    mode: PermissionMode = "ask",
) -> PermissionDecision:
    """Decides about an action. `granted` are rules that a person gave as an answer.

    A granted rule allows an action that would need a question, never one that is denied. A shell
    command line is allowed only if every command in it is.

    >>> from sapwood.workspace.permissions.permission_rules import parse_rules
    >>> rules = parse_rules(["allow shell(git *)"])
    >>> decide_permission(ShellAction("shell", "git status"), rules).verdict
    'allow'
    >>> decide_permission(ShellAction("shell", "git status; rm -rf ."), rules).verdict
    'ask'
    >>> decide_permission(ShellAction("shell", "git status", "vendor"), rules).verdict
    'ask'
    """
    if mode in READING_MODES and (isinstance(action, ShellAction) or not action.reads):
        return PermissionDecision("deny", f"The permission mode is {mode}.")
    if not isinstance(action, ShellAction):
        return _decide_one(action, rules, granted, mode)
    parts = [_decide_one(each, rules, granted, mode) for each in _commands(action, rules, mode)]
    worst = max(parts, key=lambda part: ("allow", "ask", "deny").index(part.verdict))
    if action.must_ask and worst.verdict != "deny":
        return PermissionDecision("ask", action.wants)
    remedy = dict.fromkeys(rule for part in parts if part.verdict == "ask" for rule in part.remedy)
    whole = _rule_for_line(action)
    if whole is not None and (whole in remedy or len(remedy) > _MAX_RULES):
        return PermissionDecision(worst.verdict, worst.why, (whole,))
    return PermissionDecision(worst.verdict, worst.why, tuple(remedy))


_MAX_RULES = 3
"""A line that needs more rules gets one rule for exactly this line: nobody reads ten rules."""


def prefix_rule(action: ToolAction) -> PermissionRule | None:
    """The rule for all commands that start as this one does; None unless they can only read.

    >>> str(prefix_rule(ShellAction("shell", "git status -s")))
    'allow shell(git status *)'
    >>> prefix_rule(ShellAction("shell", "python3 a.py")) is None
    True
    """
    if not isinstance(action, ShellAction) or not _can_be_named(action.folder):
        return None
    commands = simple_commands(action.command)
    prefix = harmless_prefix(commands[0].words) if commands and len(commands) == 1 else None
    if prefix is None or not commands or not commands[0].is_known or commands[0].outputs:
        return None
    folder = "" if action.folder == "." else escape(action.folder)
    return PermissionRule("allow", action.tool, f"{command_pattern(prefix)} *", folder)


def _commands(action: ShellAction, rules: PermissionRules, mode: PermissionMode) -> list[_Command]:
    commands = simple_commands(action.command)
    if commands is None:
        forms = forms_of_unclear_line(action.command)
        return [_Command(action.tool, None, forms, action.folder, action)]
    counts = [not does_nothing(each, action.astray) for each in commands]
    return [
        _Command(
            action.tool,
            each,
            forms_of(each.words),
            each.folder_from(action.folder),
            action,
            runs_unseen_text(each),
            _not_writable(each, action, rules, mode),
            commands,
            any(counts) and not counts[place],
        )
        for place, each in enumerate(commands)
    ]


def _not_writable(
    command: SimpleCommand, action: ShellAction, rules: PermissionRules, mode: PermissionMode
) -> tuple[str, ...]:
    """The files behind `>` that neither a rule for write_file allows, nor their place and name.

    Reports in a folder for output are what a command prints, kept for later.
    """
    folder = command.folder_from(action.folder)
    found: list[str] = []
    for path in command.outputs:
        if folder is None or path in action.astray or not is_path_inside(path):
            found.append(path)
            continue
        whole = path if folder == "." else f"{folder}/{path}"
        guard = why_runs_programs(whole) or why_private(whole)
        write = FileAction("write_file", whole, reads=False, guard=guard)
        is_decided = any(_matches(rule, write) for rule in rules)
        if _decide_one(write, rules, (), mode).verdict != "allow" and (
            is_decided or guard or not is_report(whole)
        ):
            found.append(path)
    return tuple(found)


def _decide_one(
    action: FileAction | FetchAction | OtherAction | _Command,
    rules: PermissionRules,
    granted: PermissionRules,
    mode: PermissionMode,
) -> PermissionDecision:
    remedy = _remedy(action)
    is_granted = any(_matches(rule, action) for rule in granted if rule.verdict == "allow")
    for rule in rules:
        if _matches(rule, action):
            if rule.verdict == "ask" and is_granted:
                return PermissionDecision("allow", _ALLOWED)
            return PermissionDecision(rule.verdict, f"The rule '{rule}' applies.", remedy)
        if rule.verdict != "allow" and _may_match(rule, action):
            named = any(_names_line(each, action) for each in granted if each.verdict == "allow")
            if named or (is_granted and rule.verdict == "ask"):
                return PermissionDecision("allow", _ALLOWED)
            return _asked_because_of(rule, action)
    if is_granted:
        return PermissionDecision("allow", _ALLOWED)
    return _default_decision(action, remedy, mode)


def _asked_because_of(
    rule: PermissionRule, action: FileAction | FetchAction | OtherAction | _Command
) -> PermissionDecision:
    """The question about a line to which a denial may apply. Only a rule for all of it helps."""
    whole = _rule_for_line(action.line) if isinstance(action, _Command) else None
    remedy = () if whole is None else (whole,)
    return PermissionDecision("ask", f"{_UNCLEAR}, and '{rule}' may apply to it.", remedy)


def _default_decision(
    action: FileAction | FetchAction | OtherAction | _Command,
    remedy: PermissionRules,
    mode: PermissionMode,
) -> PermissionDecision:
    if isinstance(action, FileAction):
        if action.is_outside:
            return PermissionDecision("deny", "It is outside the workspace.", remedy)
        if action.guard:
            return PermissionDecision("ask", action.guard, remedy)
        if mode == "accept-edits" and not action.reads:
            return PermissionDecision("allow", "The permission mode is accept-edits.")
    if isinstance(action, FetchAction) and action.is_private:
        return PermissionDecision("deny", f"{action.place} is not on the public internet.", remedy)
    if not isinstance(action, _Command | FetchAction) and action.reads:
        return PermissionDecision("allow", "Reading is allowed.")
    if mode == "all":
        return PermissionDecision("allow", "The permission mode is all.")
    if isinstance(action, _Command) and action.does_nothing and not action.writes:
        return PermissionDecision("allow", "It changes nothing outside the shell.")
    if isinstance(action, _Command) and action.line.is_confined:
        return PermissionDecision("allow", "It runs in the sandbox.")
    if isinstance(action, _Command) and action.line.wants:
        return PermissionDecision("ask", action.line.wants, remedy)
    if isinstance(action, _Command) and action.text is None:
        return PermissionDecision("ask", f"{_UNCLEAR}.", remedy)
    if isinstance(action, _Command) and action.folder is None:
        return PermissionDecision("ask", "Sapwood cannot tell which folder this runs in.", remedy)
    if isinstance(action, _Command) and action.folder != ".":
        return PermissionDecision(
            "ask", f"No permission rule covers this in {action.folder}.", remedy
        )
    return PermissionDecision("ask", NOT_COVERED, remedy)


def _matches(
    rule: PermissionRule, action: FileAction | FetchAction | OtherAction | _Command
) -> bool:
    match action:
        case FileAction():
            if not names_tool(rule, action.tool, action.related_tool):
                return False
            if action.guard and rule.verdict == "allow":
                return is_for_exact_path(rule, action.path)
            return covers_path(rule, action.path)
        case _Command():
            return names_tool(rule, action.tool) and _matches_command(rule, action)
        case FetchAction(tool, place):
            return names_tool(rule, tool) and covers_host(rule, place, exact=action.is_private)
        case _:
            return names_tool(rule, action.tool) and is_for_all(rule)


def _matches_command(rule: PermissionRule, command: _Command) -> bool:
    if is_for_all(rule) or (rule.verdict == "allow" and _names_line(rule, command)):
        return True
    if rule.verdict == "allow":
        return (
            command.parts is not None
            and not command.writes
            and any(covers_command(rule, text) for text in plain_forms(command.parts))
            and (covers_folder(rule, command.folder) or _reads_anywhere(rule, command))
            and not why_not_covered(rule.pattern, command.parts, command.line.astray)
        )
    return covers_folder(rule, command.folder) and any(
        covers_command(rule, form) for form in command.forms
    )


def _names_line(
    rule: PermissionRule, action: FileAction | FetchAction | OtherAction | _Command
) -> bool:
    """Whether the rule is for exactly the line of the command, in the line's own folder."""
    return (
        isinstance(action, _Command)
        and names_tool(rule, action.tool)
        and is_for_command_line(rule, action.line.command)
        and covers_folder(rule, action.line.folder)
    )


def _may_match(
    rule: PermissionRule, action: FileAction | FetchAction | OtherAction | _Command
) -> bool:
    """Whether a rule that forbids or asks may be for something that the line runs unseen."""
    if not isinstance(action, _Command) or not names_tool(rule, action.tool):
        return False
    if action.parts is None or action.is_unseen:
        return True
    if not covers_folder(rule, action.folder):
        return False
    if may_be(rule.pattern, action.parts, action.forms):
        return True
    # In a line that only reads or prints, text stays text.
    return mentions(rule.pattern, action.line.command) and not _only_read(action.together)


@lru_cache(maxsize=16)
def _only_read(commands: tuple[SimpleCommand, ...]) -> bool:
    return all(only_reads(each) for each in commands)


def _reads_anywhere(rule: PermissionRule, command: _Command) -> bool:
    """Whether the command only reads, in a folder of the workspace, and the rule names none.

    What only prints its arguments may run in any folder.
    """
    return (
        rule.verdict == "allow"
        and not rule.folder
        and command.parts is not None
        and (command.folder is not None or command.parts.words[0] in PRINTS)
        and command.parts.words[0] != "git"
        and only_reads(command.parts)
    )


def _remedy(action: FileAction | FetchAction | OtherAction | _Command) -> PermissionRules:
    """The narrowest rule that allows this action; none if it cannot be written as a rule."""
    match action:
        case FileAction():
            # Who may list or search a folder may see what is in it.
            rest = "/**" if action.tool in ("list_files", "search_files") else ""
            rest = "" if action.guard or action.path == "." else rest
            return (PermissionRule("allow", action.tool, escape(action.path) + rest),)
        case _Command():
            if action.text is None or action.folder is None:
                whole = _rule_for_line(action.line)
                return () if whole is None else (whole,)
            return _rule_for(action.tool, action.text, action.folder)
        case FetchAction(tool, place):
            return (PermissionRule("allow", tool, place),)
        case _:
            return (PermissionRule("allow", action.tool),)


def _rule_for_line(action: ShellAction) -> PermissionRule | None:
    return next(iter(_rule_for(action.tool, action.command, action.folder)), None)


def _rule_for(tool: str, command: str, folder: str) -> PermissionRules:
    if not _can_be_named(folder):
        return ()
    named = "" if folder == "." else escape(folder)
    return (PermissionRule("allow", tool, command_pattern(command), named),)


def _can_be_named(folder: str) -> bool:
    """Whether a rule can name the folder: brackets and spaces at its ends cannot be written."""
    return not set(folder) & set("()\n") and folder == folder.strip()
