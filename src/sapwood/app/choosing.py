"""Choosing a model: whether it can be asked at all, and what follows for an agent's settings."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from sapwood.app.config import Config
from sapwood.app.connection import Connection
from sapwood.core.budget import Budget, budget_of
from sapwood.core.calling import Failure
from sapwood.core.counting import Count, show
from sapwood.core.ids import AgentId
from sapwood.core.measure import calibrated, turn_sizes
from sapwood.core.settings import Settings, SettingsChange
from sapwood.models import fits, window_of
from sapwood.models.names import resolve

__all__ = ["doubt_about", "first_settings", "model_change", "require_model", "switch_model"]


def require_model(model: str, config: Config, keys: Mapping[str, str]) -> None:
    """Raises `Failure` when a call to this model would fail for want of something on our side."""
    if not model:
        raise Failure(
            "no_model",
            "No model is chosen. Type: sapwood config set model claude-sonnet-5-5, "
            "or give --model.",
        )
    route = resolve(model, config.base_urls)
    if route.needs_key and not keys.get(route.account):
        raise Failure(
            "no_key",
            f"There is no key for {route.title}. Set {route.variable}, "
            f"or type: sapwood config key {route.account}",
        )
    if find_spec("pydantic_ai") is None:
        raise Failure(
            "no_model", "Model access is not installed. Type: pip install 'sapwood[models]'"
        )


def doubt_about(model: str, config: Config) -> str:
    """Why a model of this name could not be asked, if nobody is known to have one."""
    try:
        resolve(model, config.base_urls)
    except Failure as failure:
        return str(failure)
    return ""


def first_settings(
    config: Config, model: str, *, system: str | None = None, cap: int | None = None
) -> Settings:
    """What a new agent starts with."""
    context = config.context
    return Settings(
        model=model,
        system=context.system if system is None else system,
        cap=context.cap if cap is None else cap,
        low_water=context.low_water,
        mask_over=context.mask_over,
        window=window_of(model) or 0,
        levels=context.levels,
    )


def model_change(model: str, budget: Budget, turns: Sequence[int] = ()) -> SettingsChange:
    """The change of settings that a switch of models is. Raises `Failure` if it cannot fit.

    `turns` are the sizes of the turns in view, oldest first.
    """
    if not fits(budget.total.tokens, model):
        raise Failure("too_long", f"{_too_much(model, budget)} {_way_out(model, budget, turns)}")
    return SettingsChange(model=model, window=window_of(model) or 0)


def _too_much(model: str, budget: Budget) -> str:
    blocks = {
        "history": budget.history,
        "summary": budget.summary,
        "pins": budget.pins,
        "system prompt": budget.system,
    }
    parts = ", ".join(f"{name} {show(size)}" for name, size in blocks.items() if size.tokens)
    takes = show(Count(window_of(model) or 0, exact=True))
    return (
        f"{show(budget.total)} tokens are in view ({parts}), more than {model} takes: {takes}, "
        "its answer included. Nothing was changed."
    )


def _way_out(model: str, budget: Budget, turns: Sequence[int]) -> str:
    """What can be done first, the mildest way first."""
    fixed = (budget.system + budget.pins).tokens
    if not fits(fixed, model):
        return "System prompt and pins alone do not fit: shorten /system, or /unpin what can go."
    keeps, size = 0, fixed
    for turn in reversed(turns):
        size += turn
        if not fits(size, model):
            break
        keeps += 1
    kept = f"/clear {keeps} to keep the last {keeps} turns" if keeps else "/clear to start afresh"
    return f"Type /compact for a summary, or {kept}; then /model {model} again."


async def switch_model(
    connection: Connection, config: Config, keys: Mapping[str, str], model: str, agent: AgentId
) -> SettingsChange:
    """The change of settings that a switch to a model is, if it can be asked and all fits."""
    require_model(model, config, keys)
    opened = await connection.dispatcher.open(agent)
    counter, ratio = connection.counter_for(model), opened.state.ratio(model)
    budget = budget_of(opened.state, opened.live, counter, model)
    turns = [calibrated(size, counter, ratio).tokens for size in turn_sizes(opened.live, counter)]
    return model_change(model, budget, turns)
