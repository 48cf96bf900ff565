"""The models that configuration and API keys give access to, and the settings of new agents.

Changes the model of an agent: whether what is in view fits it, and which settings follow.
"""

import asyncio
from collections.abc import Mapping, Sequence
from itertools import accumulate, takewhile

from msgspec import Struct, structs

from sapwood.config.config_file import Config
from sapwood.conversation.call import OpenSpace, Services
from sapwood.core.budget import Budget, budget_of
from sapwood.core.errors import RefusedError
from sapwood.core.history_size import calibrated, turn_sizes
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Failure
from sapwood.core.refusals import ModelTooSmall, Refusal
from sapwood.core.refusals.refusal import did_you_mean, nearest
from sapwood.core.settings import Settings, SettingsChange
from sapwood.models import fits, window_of
from sapwood.models.catalogue import find_model, model_names
from sapwood.models.model_routes import PROVIDERS, resolve
from sapwood.programs.registry import program_executor, programs_with

NO_PROGRAMS = (
    "Agent programs run only for the person at this machine, not in this space. Choose a model: "
    "/model NAME"
)
"""Why a program cannot be the model of a conversation in a space with a folder of its own."""

KNOWN_MODELS = (
    *(each.name for each in programs_with("provider")),
    "claude-sonnet-5-5",
    "claude-opus-5-5",
    "gpt-5",
    "gpt-5-mini",
    "gemini-3-pro",
)
"""Agent programs, and models that are often wanted; any other name can be typed."""


class ConfiguredModels:
    """The models that the configuration and the API keys give access to; `programs` if wanted."""

    def __init__(self, config: Config, keys: Mapping[str, str], *, programs: bool = True) -> None:
        self._programs = programs
        self._config = config
        self._keys = keys

    @property
    def default(self) -> str:
        """The configured model; empty if none is configured."""
        return self._config.model

    def require(self, model: str) -> None:
        """Raises `Failure` if this model cannot be called: no name or no API key."""
        if not self._programs and program_executor(model) is not None:
            raise Failure("no_model", NO_PROGRAMS)
        require_model(model, self._config, self._keys)

    def doubt(self, model: str) -> str:
        """Returns why a name may be mistyped; empty if it is not."""
        return model_doubt(model, self._config)

    def first_settings(self, model: str = "", *, system: str | None = None) -> Settings:
        """Returns the settings of a new conversation, perhaps with another model and prompt."""
        return first_settings(self._config, model or self._config.model, system=system)


NO_MODEL = "No model is set. Type: sapwood config set model claude-sonnet-5-5, or use --model."
"""What a shell prints. A screen says what to type there."""


class ModelAccount(Struct, frozen=True):
    """The provider account whose API key a model needs. `account` is empty if it is unknown."""

    account: str
    title: str
    needs_key: bool


def require_model(model: str, config: Config, keys: Mapping[str, str]) -> None:
    """Raises `Failure` if this model cannot be called: no name or no API key."""
    if not model:
        raise Failure("no_model", NO_MODEL)
    if (executor := program_executor(model)) is not None:
        from sapwood.programs.installed_programs import require_program

        require_program(executor)
        return
    route = resolve(model, config.base_urls)
    if route.needs_key and not keys.get(route.account):
        raise Failure(
            "no_key",
            f"There is no API key for {route.title}. Set {route.variable}, or type: sapwood config "
            f"key {route.account}",
            model=model,
        )


def model_account(model: str, config: Config) -> ModelAccount:
    """Returns the account of a model; one with an empty name if no provider has this model."""
    if (executor := program_executor(model)) is not None:
        return ModelAccount(executor.program, executor.title, needs_key=False)
    try:
        route = resolve(model, config.base_urls)
    except Failure:
        return ModelAccount("", "the provider", needs_key=False)
    provider = PROVIDERS.get(route.account)
    title = provider.title if provider else route.account
    return ModelAccount(route.account, title, route.needs_key)


def model_problem(model: str, config: Config) -> str:
    """Returns why no known provider has this model; empty if one has it."""
    if program_executor(model) is not None:
        return ""
    try:
        resolve(model, config.base_urls)
    except Failure as failure:
        return str(failure)
    return ""


def setting_problem(name: str, value: str, config: Config) -> str:
    """Returns why the value of a setting names no known model; empty for other settings."""
    if name not in ("model", "title_model") or (name == "title_model" and value in ("", "same")):
        return ""
    return model_problem(value, config)


def model_doubt(model: str, config: Config) -> str:
    """Returns why a name may be mistyped: the provider's list lacks it. Empty if it is not.

    A name with its provider, such as `openai:gpt-next`, counts as meant.
    """
    if ":" in model or model in KNOWN_MODELS or model_problem(model, config):
        return ""
    route = resolve(model, config.base_urls)
    if not route.catalogue or find_model(route.catalogue, route.model):
        return ""
    known = tuple(model_names(route.catalogue))
    hint = did_you_mean(nearest(model, known, 0.6)) if known else ""
    return (
        f"{route.title} does not list a model '{model}'.{hint} To use it anyway, type: "
        f"{route.provider}:{model}"
    )


def first_settings(
    config: Config, model: str, *, system: str | None = None, cap: int | None = None
) -> Settings:
    """Returns the settings of a new agent. `system` and `cap` replace the configured values."""
    context = config.context
    return Settings(
        model=model,
        system=context.system if system is None else system,
        cap=context.cap if cap is None else cap,
        low_water=context.low_water,
        mask_over=context.mask_over,
        offer_drops=context.offer_drops,
        window=window_of(model) or 0,
        levels=context.levels,
        summary_cap=context.summary_cap,
        extend_summary=context.extend_summary,
        provider_summary=context.provider_summary,
        summary_score=context.summary_score,
        budget_cost=config.budget.cost,
        budget_calls=config.budget.calls,
        budget_depth=config.budget.depth,
        budget_agents=config.budget.agents,
        budget_turns=config.budget.turns,
        budget_turn_calls=config.budget.turn_calls,
        permission_mode=config.permission_mode,
    )


def with_window(settings: Settings) -> Settings:
    """The settings with the window of their model, if they have none.

    The gate of the dispatcher refuses what are no settings.
    """
    if not isinstance(settings, Settings) or not isinstance(settings.model, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        return settings
    if settings.window or not settings.model:
        return settings
    return structs.replace(settings, window=window_of(settings.model) or 0)


async def switch_model(
    space: OpenSpace, config: Config, keys: Mapping[str, str], model: str, agent: AgentId
) -> SettingsChange | Refusal:
    """Returns the change of settings to another model, or the refusal if the context is too large.

    Raises `Failure` if the model cannot be called.
    """
    require_model(model, config, keys)
    return await fit_model(space, model, agent)


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
