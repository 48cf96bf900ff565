"""Handlers of commands that show or change settings.

The handler of `/permissions`: shows and changes the mode of an agent and a project's rules.

The command that answers a tool call which waits for approval.
"""

import asyncio
import re

import msgspec

from sapwood.conversation.answers import (
    ArgumentNeeded,
    Changed,
    PermissionsShown,
    SettingShown,
    SettingsShown,
)
from sapwood.conversation.call import Call
from sapwood.core.commands import AnswerQuestion, Configure
from sapwood.core.errors import RefusedError
from sapwood.core.events import QuestionAsked
from sapwood.core.refusals import BadSetting, NoQuestion, nearest
from sapwood.core.settings import BUDGET, SettingsChange, field_of, typed_name
from sapwood.core.turn_params import TurnParams
from sapwood.workspace.permissions.kept_rules import KeptRules, RuleSources, project_folder
from sapwood.workspace.permissions.permission_rules import MODES, RuleError, mode_of, parse_rules

_EMPTY = ('""', "''")
_SHARES = ("levels", "low_water", "summary_score", "budget_cost")
_COUNTS = ("cap", "window", "mask_over", "offer_drops")
_SHORT = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)([kKmM])")
_UNITS = {"k": 1_000, "m": 1_000_000}


async def model(call: Call) -> SettingShown | Changed | ArgumentNeeded:
    """Shows the model or a list of models, or changes it to one that what is in view fits."""
    if call.run.args:
        return await _configured(call, SettingsChange(model=call.run.args))
    default = call.services.models.default if call.services.models else ""
    value = (await call.opened()).state.settings.model if call.current else ""
    value = value or default
    if call.services.picks:
        return ArgumentNeeded(call.run.command.name, call.run.command.arguments[0], value)
    return SettingShown("model", value, value or "No model is set.")


async def system(call: Call) -> SettingShown | Changed:
    """Shows the system prompt, or changes it; two quotation marks empty it."""
    if call.run.args:
        return await _configured(call, SettingsChange(system=_text(call.run.args)))
    value = (await call.opened()).state.settings.system if call.current else ""
    return SettingShown("system", value, value or "No system prompt is set.")


async def config(call: Call) -> SettingsShown | Changed:
    """Shows all settings, or changes one. Budgets are settings of the root."""
    if not call.run.args:
        settings = (await call.opened()).state.settings if call.current else None
        return SettingsShown(settings)
    change = _change(call)
    if not any(name.startswith(BUDGET) for name in change.changed_fields()):
        return await _configured(call, change)
    root = (await call.space.dispatcher.account(call.agent)).root
    return await call.changed(Configure(root, change))


async def _configured(call: Call, change: SettingsChange) -> Changed:
    from sapwood.conversation.configured_models import with_fitting_model

    fitting = await with_fitting_model(call.services, call.agent, change)
    return await call.changed(Configure(call.agent, fitting))


def _text(typed: str) -> str:
    """The text that was typed; a pair of quotation marks alone is the empty text."""
    return "" if typed in _EMPTY else typed


def _number(typed: str) -> str:
    """A number that may be written as it is shown: 100k, 1.5M."""
    found = _SHORT.fullmatch(typed)
    return str(round(float(found[1]) * _UNITS[found[2].lower()])) if found else typed


def _change(call: Call) -> SettingsChange:
    """`/config cap 50k`; a setting with several values takes them one after the other."""
    typed, text = call.first_and_rest
    name, names = field_of(typed), SettingsChange.__struct_fields__
    if name not in names:
        shown = tuple(typed_name(each) for each in names)
        known = " or ".join(nearest(typed, shown)) or ", ".join(shown)
        raise call.misused(f"Unknown setting '{typed[:60]}'. The settings are {known}.")
    if not text:
        raise call.misused(f"Which value for {typed}?")
    value = text.split() if name == "levels" else _number(text) if name in _COUNTS else _text(text)
    try:
        if name == "params":
            return SettingsChange(params=msgspec.json.decode(text, type=TurnParams))
        return msgspec.convert({name: value}, SettingsChange, strict=False)
    except msgspec.DecodeError:
        rule = "three numbers such as 0.5 0.65 0.85" if name == "levels" else "a number such as 0.6"
        known_rule = rule if name in _SHARES else "a whole number such as 100000 or 100k"
        if name == "params":
            known_rule = 'JSON such as {"temperature": 0.2, "max_tokens": 4000}'
        if name == "permission_mode":
            known_rule = "one of ask, accept-edits, plan, read-only, all"
        raise RefusedError(BadSetting(typed, known_rule)) from None


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


async def answer(call: Call) -> Changed:
    """Answers the oldest question that waits, or the one whose id comes first.

    Without an answer, shows the question.
    """
    state = (await call.opened()).state
    waiting = state.open.questions if state.open else ()
    if not waiting:
        raise RefusedError(NoQuestion())
    text = call.run.args.strip()
    word, _, rest = text.partition(" ")
    first = next((each for each in waiting if each.question == word), None)
    text = text if first is None else rest.strip()
    first = first or waiting[0]
    [recorded] = await call.space.log.read(call.space.space, call.agent, first.asked, first.asked)
    assert isinstance(recorded.event, QuestionAsked)
    from sapwood.workspace.permissions.permission_gate import Deny, PermissionQuestion, Reply

    question = msgspec.json.decode(recorded.event.shown, type=PermissionQuestion)
    given = question.typed_answer(text)
    if given is None and question.choices:
        choices = "\n".join(f"{n}  {each}" for n, each in enumerate(question.choices, 1))
        raise call.misused(
            f"The model asks:\n{question.preview}\n{choices}\n"
            "Answer with a number, or in your own words."
        )
    if given is None:
        raise call.misused(
            f"{question.tool} in {question.workspace or 'no folder'} wants:\n{question.preview}\n"
            "Answer yes, always or no."
        )
    command = AnswerQuestion(
        call.agent,
        first.question,
        first.hash,
        not isinstance(given, Deny),
        msgspec.json.encode(given).decode(),
    )
    done = await call.give(command)
    message = "Answered." if isinstance(given, Reply) else done.message
    return Changed(call.agent, message, done.events)
