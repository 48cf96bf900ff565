"""Wires the conversation service: models, checkpoints and imports as they are configured."""

from collections.abc import Awaitable, Callable, Mapping

from sapwood.app.checkpointing import keeper_for
from sapwood.app.choosing import first_settings, require_model
from sapwood.app.config import Config
from sapwood.app.connection import Connection
from sapwood.conversation.call import Services
from sapwood.conversation.service import ConversationService
from sapwood.core.commands import Fork
from sapwood.core.ids import AgentId
from sapwood.core.refusals import Refusal
from sapwood.core.settings import Settings
from sapwood.runtime.dispatch import Done

__all__ = ["ConfiguredModels", "conversation_service", "offline_service"]

Compact = Callable[[AgentId, int], Awaitable[Done | Refusal]]


class ConfiguredModels:
    """The models that the configuration and the keys give access to."""

    def __init__(self, config: Config, keys: Mapping[str, str]) -> None:
        self._config = config
        self._keys = keys

    @property
    def default(self) -> str:
        """The configured model."""
        return self._config.model

    def require(self, model: str) -> None:
        """Raises `Failure` when a call to this model would fail for want of a key or a package."""
        require_model(model, self._config, self._keys)

    def first_settings(self) -> Settings:
        """The settings of a new conversation."""
        return first_settings(self._config, self._config.model)


def conversation_service(
    connection: Connection,
    config: Config,
    keys: Mapping[str, str],
    *,
    compact: Compact | None = None,
    before_work: Callable[[], Awaitable[None]] | None = None,
) -> ConversationService:
    """The service for a face whose agents can call models."""

    async def take_over(fork: Fork) -> AgentId:
        from sapwood.app.gardening.taking_over import take_over

        return await take_over(connection, config, keys, fork)

    return ConversationService(
        Services(
            connection,
            ConfiguredModels(config, keys),
            compact,
            lambda: keeper_for(connection, config.checkpoints),
            take_over,
            before_work,
        )
    )


def offline_service(connection: Connection, config: Config) -> ConversationService:
    """The service for a face that calls no model: everything but summaries and new prompts."""
    return ConversationService(
        Services(connection, checkpoints=lambda: keeper_for(connection, config.checkpoints))
    )
