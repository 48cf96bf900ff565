"""Whom to talk to: a new agent, one that was named, or the newest; with the settings asked for."""

import os

from msgspec import UNSET, Struct, structs

from sapwood.app.choosing import first_settings, require_model
from sapwood.app.config import Config
from sapwood.app.connection import Connection
from sapwood.app.conversation_service import conversation_service
from sapwood.cli.typed import clean
from sapwood.conversation.agent_lookup import find
from sapwood.conversation.conversation_list import newest_agent
from sapwood.core.errors import RefusedError, SapwoodError
from sapwood.core.ids import AgentId
from sapwood.core.refusals import Imported
from sapwood.core.settings import SettingsChange

__all__ = ["Wanted", "choose_agent"]


class Wanted(Struct, frozen=True):
    """What was asked for on the command line."""

    agent: str | None = None
    new: bool = False
    goes_on: bool = False
    model: str | None = None
    system: str | None = None
    cap: int | None = None
    allow: tuple[str, ...] = ()
    seconds: float | None = None


async def choose_agent(
    connection: Connection, config: Config, keys: dict[str, str], wanted: Wanted
) -> AgentId:
    """The agent to talk to, with its settings changed as asked for.

    Raises `Failure` when its model cannot be asked, before anything is changed.
    """
    if wanted.goes_on:
        newest = await newest_agent(connection)
        if newest is None:
            raise SapwoodError("There is no agent yet to go on with. Leave --continue out.")
        agent = newest
    elif wanted.agent and not wanted.new:
        agent = await find(connection, wanted.agent)
    else:
        return await _start(connection, config, keys, wanted)
    await _change(connection, config, keys, wanted, agent)
    return agent


async def _start(
    connection: Connection, config: Config, keys: dict[str, str], wanted: Wanted
) -> AgentId:
    name = clean(wanted.agent or "")
    taken = await connection.log.find(connection.space, name) if name else []
    if any(facts.name == name and facts.status == "running" for facts in taken):
        raise SapwoodError(
            f"An agent '{name}' is running already. Leave --new out to go on with it, "
            "or choose another name."
        )
    model = wanted.model or config.model
    require_model(model, config, keys)
    system = None if wanted.system is None else clean(wanted.system)
    settings = first_settings(config, model, system=system, cap=wanted.cap)
    service = conversation_service(connection, config, keys)
    return await service.start(clean(os.getcwd()), name=name, settings=settings)


async def _change(
    connection: Connection,
    config: Config,
    keys: dict[str, str],
    wanted: Wanted,
    agent: AgentId,
) -> None:
    state = (await connection.dispatcher.open(agent)).state
    if state.origin is not None:
        raise RefusedError(Imported(agent, state.origin.source))
    change = SettingsChange(
        system=UNSET if wanted.system is None else clean(wanted.system),
        cap=UNSET if wanted.cap is None else wanted.cap,
    )
    if wanted.model is not None and wanted.model != state.settings.model:
        change = structs.replace(change, model=wanted.model)
    else:
        require_model(state.settings.model, config, keys)
    if change.given():
        await conversation_service(connection, config, keys).configure(agent, change)
