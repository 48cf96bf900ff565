"""Choosing a model: whether it can be asked at all, and what follows for an agent's settings."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import accumulate, takewhile

from sapwood.app.config import Config
from sapwood.app.connection import Connection
from sapwood.core.budget import Budget, budget_of
from sapwood.core.calling import Failure
from sapwood.core.ids import AgentId
from sapwood.core.measure import calibrated, turn_sizes
from sapwood.core.refusals import ModelTooSmall
from sapwood.core.settings import Settings, SettingsChange
from sapwood.models import fits, window_of
from sapwood.models.names import resolve

__all__ = [
    "doubt_about",
    "first_settings",
    "fit_model",
    "model_change",
    "require_model",
    "switch_model",
]


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


def model_change(
    model: str, budget: Budget, turns: Sequence[int] = ()
) -> SettingsChange | ModelTooSmall:
    """The change of settings that a switch of models is, unless what is in view cannot fit.

    `turns` are the sizes of the turns in view, oldest first.
    """
    window = window_of(model) or 0
    if fits(budget.total.tokens, model):
        return SettingsChange(model=model, window=window)
    blocks = (
        ("history", budget.history),
        ("summary", budget.summary),
        ("pins", budget.pins),
        ("system prompt", budget.system),
        ("tools", budget.tools),
    )
    fixed = (budget.system + budget.tools + budget.pins).tokens
    return ModelTooSmall(model, window, blocks, _keeps(model, fixed, turns))


def _keeps(model: str, fixed: int, turns: Sequence[int]) -> int | None:
    """How many of the last turns fit beside what always stands; None if that alone does not."""
    sizes = accumulate(reversed(turns), initial=fixed)
    fitting = sum(1 for _ in takewhile(lambda size: fits(size, model), sizes))
    return fitting - 1 if fitting else None


async def fit_model(
    connection: Connection, model: str, agent: AgentId
) -> SettingsChange | ModelTooSmall:
    """The change of settings that a switch to a model is, if all that is in view fits it."""
    opened = await connection.dispatcher.open(agent)
    counter, ratio = connection.counter_for(model), opened.state.ratio(model)
    budget = budget_of(opened.state, opened.live, counter, model)
    turns = [calibrated(size, counter, ratio).tokens for size in turn_sizes(opened.live, counter)]
    return model_change(model, budget, turns)


async def switch_model(
    connection: Connection, config: Config, keys: Mapping[str, str], model: str, agent: AgentId
) -> SettingsChange | ModelTooSmall:
    """As `fit_model`, for who will ask the model: raises `Failure` if it cannot be asked."""
    require_model(model, config, keys)
    return await fit_model(connection, model, agent)
