"""Goes on with an imported conversation: in a fork of it, by a model that can be asked here."""

from collections.abc import Mapping
from pathlib import Path

from sapwood.app.choosing import require_model, switch_model
from sapwood.app.config import Config
from sapwood.app.connection import Connection
from sapwood.app.gardening.adopting import Adopter
from sapwood.app.gardening.sessions import Sessions
from sapwood.core.calling import Failure
from sapwood.core.commands import Fork
from sapwood.core.errors import RefusedError
from sapwood.core.ids import AgentId
from sapwood.core.refusals import Refusal
from sapwood.core.settings import SettingsChange

__all__ = ["take_over"]


async def take_over(
    connection: Connection, config: Config, keys: Mapping[str, str], fork: Fork
) -> AgentId:
    """The child; what was imported stays as it is. Raises `Failure` if no model can be asked."""
    state = (await connection.dispatcher.open(fork.agent)).state
    adopter = Adopter(connection, Sessions(Path(state.workspace.folder), config))
    return await adopter.fork(
        fork.agent,
        mark=fork.mark,
        goal=fork.goal,
        name=fork.name or state.name,
        change=await _other_model(connection, config, keys, fork.agent, state.settings.model),
    )


async def _other_model(
    connection: Connection, config: Config, keys: Mapping[str, str], agent: AgentId, model: str
) -> SettingsChange | None:
    """The configured model, where that of the conversation cannot be asked."""
    try:
        require_model(model, config, keys)
    except Failure:
        change = await switch_model(connection, config, keys, config.model, agent)
        if isinstance(change, Refusal):
            raise RefusedError(change) from None
        return change
    return None
