"""Changes the model of an agent: whether what is in view fits it, and which settings follow."""

import asyncio
from collections.abc import Sequence
from itertools import accumulate, takewhile

from msgspec import structs

from sapwood.conversation.call import OpenSpace, Services
from sapwood.core.budget import Budget, budget_of
from sapwood.core.errors import RefusedError
from sapwood.core.history_size import calibrated, turn_sizes
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Failure
from sapwood.core.refusals import ModelTooSmall
from sapwood.core.settings import SettingsChange
from sapwood.models import fits, window_of


def model_change(
    model: str, budget: Budget, turns: Sequence[int] = ()
) -> SettingsChange | ModelTooSmall:
    """The change of settings for another model, or why what is in view cannot fit it.

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


async def fit_model(space: OpenSpace, model: str, agent: AgentId) -> SettingsChange | ModelTooSmall:
    """The change of settings for another model of this agent, if all that is in view fits it."""
    opened = await space.dispatcher.open(agent)
    counter, ratio = space.counter_for(model), opened.state.ratio(model)
    budget = budget_of(opened.state, opened.live, counter, model)
    turns = [calibrated(size, counter, ratio).tokens for size in turn_sizes(opened.live, counter)]
    return model_change(model, budget, turns)


async def with_fitting_model(
    services: Services, agent: AgentId, change: SettingsChange
) -> SettingsChange:
    """The change; where it names a model, with that model's window.

    Raises `RefusedError` if what is in view does not fit the model, and `Failure` if the model
    cannot be called.
    """
    if not change.model:
        return change
    if services.models is not None:
        # Asking a program for its version can take a moment.
        await asyncio.to_thread(services.models.require, change.model)
        if doubt := services.models.doubt(change.model):
            raise Failure("no_model", doubt)
    fitting = await fit_model(services.space, change.model, agent)
    if isinstance(fitting, ModelTooSmall):
        raise RefusedError(fitting)
    return structs.replace(change, **fitting.changed_fields())


def _keeps(model: str, fixed: int, turns: Sequence[int]) -> int | None:
    """How many of the last turns fit beside what always stands; None if that alone does not."""
    sizes = accumulate(reversed(turns), initial=fixed)
    fitting = sum(1 for _ in takewhile(lambda size: fits(size, model), sizes))
    return fitting - 1 if fitting else None
