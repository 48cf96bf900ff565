"""Whom to talk to: a new agent, one that was named, or the newest; with the settings asked for."""

import os

from msgspec import UNSET, Struct, structs

from sapwood.app.choosing import first_settings, require_model, switch_model
from sapwood.app.config import Config
from sapwood.app.connection import Connection
from sapwood.app.finding import find
from sapwood.core.commands import Command, Configure, StartAgent
from sapwood.core.errors import RefusedError, SapwoodError
from sapwood.core.ids import AgentId, can_be_stored
from sapwood.core.refusals import Imported, Refusal
from sapwood.core.settings import SettingsChange, Workspace
from sapwood.runtime.fresh import given, new_agent_id

__all__ = ["Wanted", "choose_agent"]

_NEWEST = 50


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
        agent = await _newest(connection)
    elif wanted.agent and not wanted.new:
        agent = await find(connection, wanted.agent)
    else:
        return await _start(connection, config, keys, wanted)
    await _change(connection, config, keys, wanted, agent)
    return agent


async def _start(
    connection: Connection, config: Config, keys: dict[str, str], wanted: Wanted
) -> AgentId:
    name = wanted.agent or ""
    taken = await connection.log.find(connection.space, name) if can_be_stored(name) else []
    if any(facts.name == name and facts.status == "running" for facts in taken):
        raise SapwoodError(
            f"An agent '{name}' is running already. Leave --new out to go on with it, "
            "or choose another name."
        )
    model = wanted.model or config.model
    require_model(model, config, keys)
    settings = first_settings(config, model, system=wanted.system, cap=wanted.cap)
    agent = new_agent_id()
    await _do(connection, StartAgent(agent, name, settings, Workspace(folder=os.getcwd())))
    return agent


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
        system=UNSET if wanted.system is None else wanted.system,
        cap=UNSET if wanted.cap is None else wanted.cap,
    )
    if wanted.model is not None and wanted.model != state.settings.model:
        switch = await switch_model(connection, config, keys, wanted.model, agent)
        if isinstance(switch, Refusal):
            raise RefusedError(switch)
        change = structs.replace(change, model=switch.model, window=switch.window)
    else:
        require_model(state.settings.model, config, keys)
    if change.given():
        await _do(connection, Configure(agent, change))


async def _newest(connection: Connection) -> AgentId:
    agents = await connection.log.agents(connection.space, status="running", limit=_NEWEST)
    own = [facts.agent for facts in agents if not facts.source]
    while agents and not own:
        agents = await connection.log.agents(
            connection.space, status="running", limit=_NEWEST, after=agents[-1]
        )
        own = [facts.agent for facts in agents if not facts.source]
    if not own:
        raise SapwoodError("There is no agent yet to go on with. Leave --continue out.")
    return own[0]


async def _do(connection: Connection, command: Command) -> None:
    answer = await connection.dispatcher.dispatch(command, given())
    if isinstance(answer, Refusal):
        raise RefusedError(answer)
