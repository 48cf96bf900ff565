"""Choosing a model: whether it can be asked at all, and what follows for an agent's settings."""

from collections.abc import Mapping
from importlib.util import find_spec

from msgspec import Struct

from sapwood.app.config import Config
from sapwood.app.connection import Connection
from sapwood.conversation.model_choice import fit_model
from sapwood.core.calling import Failure
from sapwood.core.ids import AgentId
from sapwood.core.refusals import ModelTooSmall
from sapwood.core.settings import Settings, SettingsChange
from sapwood.models import window_of
from sapwood.models.names import PROVIDERS, resolve

__all__ = [
    "ModelAccess",
    "access_to",
    "doubt_about",
    "first_settings",
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


class ModelAccess(Struct, frozen=True):
    """Where a model is called: the account its key belongs to, and whether it needs a key."""

    account: str
    title: str
    needs_key: bool


def access_to(model: str, config: Config) -> ModelAccess:
    """Where a model of this name is called; an account without a name for one nobody knows."""
    try:
        route = resolve(model, config.base_urls)
    except Failure:
        return ModelAccess("", "the provider", needs_key=False)
    known = PROVIDERS.get(route.account)
    return ModelAccess(route.account, known.title if known else route.account, route.needs_key)


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


async def switch_model(
    connection: Connection, config: Config, keys: Mapping[str, str], model: str, agent: AgentId
) -> SettingsChange | ModelTooSmall:
    """As `fit_model`, for a model that will be called: raises `Failure` if it cannot be."""
    require_model(model, config, keys)
    return await fit_model(connection, model, agent)
