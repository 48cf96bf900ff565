"""Handlers of commands that show or change settings."""

import re

import msgspec

from sapwood.conversation.answers import Changed, SettingShown, SettingsShown
from sapwood.conversation.call import Call
from sapwood.core.commands import Configure
from sapwood.core.errors import RefusedError
from sapwood.core.refusals import BadSetting, nearest
from sapwood.core.settings import BUDGET, SettingsChange, field_of, typed_name
from sapwood.core.turn_params import TurnParams

_EMPTY = ('""', "''")
_SHARES = ("levels", "low_water", "summary_score", "budget_cost")
_COUNTS = ("cap", "window", "mask_over")
_SHORT = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)([kKmM])")
_UNITS = {"k": 1_000, "m": 1_000_000}


async def model(call: Call) -> SettingShown | Changed:
    """Shows the model, or changes it to one that what is in view fits."""
    if call.run.args:
        return await _configured(call, SettingsChange(model=call.run.args))
    default = call.services.models.default if call.services.models else ""
    value = (await call.opened()).state.settings.model if call.current else ""
    value = value or default
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
    done = await call.give(Configure(root, change))
    return Changed(call.agent, done.message, done.events)


async def _configured(call: Call, change: SettingsChange) -> Changed:
    from sapwood.conversation.model_choice import with_fitting_model

    fitting = await with_fitting_model(call.services, call.agent, change)
    done = await call.give(Configure(call.agent, fitting))
    return Changed(call.agent, done.message, done.events)


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
            known_rule = "one of ask, accept-edits, read-only, all"
        raise RefusedError(BadSetting(typed, known_rule)) from None
