"""The handler of `/permissions`: shows and changes the mode of an agent and a project's rules."""

import asyncio

from sapwood.conversation.answers import Changed, PermissionsShown
from sapwood.conversation.call import Call
from sapwood.core.commands import Configure
from sapwood.core.refusals import nearest
from sapwood.core.settings import SettingsChange
from sapwood.workspace.permissions.kept_rules import KeptRules, RuleSources, project_folder
from sapwood.workspace.permissions.permission_rules import MODES, RuleError, mode_of, parse_rules


async def permissions(call: Call) -> PermissionsShown | Changed:
    """Shows the mode and the rules, changes the mode, or adds or removes a rule of the project."""
    word, rest = call.first_and_rest
    if not word:
        return await _shown(call)
    mode = mode_of(word)
    if mode is not None and not rest:
        done = await call.give(Configure(call.agent, SettingsChange(permission_mode=mode)))
        return Changed(call.agent, f"The permission mode is {mode}. {MODES[mode]}", done.events)
    if word in ("allow", "ask", "deny") and rest:
        return await _added(call, f"{word} {rest}")
    if word == "remove" and rest:
        return await _removed(call, rest)
    if word in ("allow", "ask", "deny", "remove"):
        raise call.misused(f"Which rule? For example: /permissions {word} shell(git status)")
    close = nearest(word, (*MODES, "allow", "deny", "remove"))
    hint = f" Did you mean {close[0]}?" if close else ""
    raise call.misused(
        f"There is no permission mode '{word[:60]}'.{hint} Modes: {', '.join(MODES)}."
    )


async def _shown(call: Call) -> PermissionsShown:
    state = (await call.opened()).state if call.current else None
    mode = state.settings.permission_mode if state else "ask"
    sources = call.services.permissions or RuleSources()
    rules = await sources.listed(project_folder(call.services.workspace_of(state)) if state else "")
    return PermissionsShown(mode, MODES[mode], rules)


async def _added(call: Call, line: str) -> Changed:
    try:
        rules = parse_rules([line])
    except RuleError as error:
        raise call.misused(str(error)) from error
    kept, folder = await _project(call)
    await asyncio.to_thread(kept.add, folder, rules)
    return Changed(call.agent, f"Added '{rules[0]}' for {folder}. It is saved in {kept.path}.")


async def _removed(call: Call, line: str) -> Changed:
    kept, folder = await _project(call)
    known = [str(rule) for rule in await asyncio.to_thread(kept.rules, folder)]
    wanted = [line] if line in known else [f"{verdict} {line}" for verdict in ("allow", "deny")]
    for rule in wanted:
        if rule in known and await asyncio.to_thread(kept.remove, folder, rule):
            return Changed(call.agent, f"Removed '{rule}' for {folder}.")
    close = nearest(line, known)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    raise call.misused(
        f"This project has no rule '{line[:200]}'.{hint} To change rules in the configuration, "
        "type: sapwood config set permissions"
    )


async def _project(call: Call) -> tuple[KeptRules, str]:
    sources = call.services.permissions
    folder = project_folder(call.services.workspace_of((await call.opened()).state))
    if sources is None or sources.kept is None or not folder:
        raise call.misused("Rules can be saved only for an agent that works in a folder.")
    return sources.kept, folder
