"""One `sapwood run`: chooses or starts the agent, runs the script, waits for descendants."""

import os

from msgspec import UNSET, Struct, structs

from sapwood.app.assembly import assemble, require_rules
from sapwood.app.connection import Connection
from sapwood.app.conversation_service import conversation_service
from sapwood.app.permission_questions import PermissionQuestions
from sapwood.cli.exit_codes import Exit
from sapwood.cli.run.model_script_player import ModelScriptPlayer
from sapwood.cli.run.run_output import RunOutput, RunSummary
from sapwood.cli.run.script_player import OK, StepResult
from sapwood.cli.run.stop_request import StopRequest
from sapwood.cli.run.terminal_approval import TerminalApproval, can_ask
from sapwood.config.api_keys import load_keys
from sapwood.config.config_file import Config
from sapwood.conversation.agent_lookup import find
from sapwood.conversation.configured_models import first_settings, require_model
from sapwood.conversation.conversation_list import newest_agent
from sapwood.conversation.script import Script
from sapwood.core.content import Usage
from sapwood.core.errors import RefusedError, SapwoodError
from sapwood.core.ids import AgentId, can_be_stored
from sapwood.core.refusals import Imported
from sapwood.core.settings import PermissionMode, SettingsChange


class RunOptions(Struct, frozen=True):
    """The options of `sapwood run`. Of its `seconds`, it `waited` so many for stdin."""

    agent: str | None = None
    new: bool = False
    continue_newest: bool = False
    model: str | None = None
    system: str | None = None
    cap: int | None = None
    allow: tuple[str, ...] = ()
    seconds: float | None = None
    permission_mode: PermissionMode | None = None
    waited: float = 0.0


async def run_conversation(
    config: Config,
    connection: Connection,
    options: RunOptions,
    script: Script | None,
    output: RunOutput,
    stop: StopRequest,
) -> Exit:
    """Runs the script on the chosen agent and returns the exit code.

    Without a script, continues the open turn of the agent. Raises `SapwoodError` if it has none.
    """
    if options.allow and connection.server is not None:
        raise SapwoodError(
            "--allow only affects tools on this machine. For a server, add the rule to its "
            "settings."
        )
    require_rules(f"allow {rule}" for rule in options.allow)  # before an agent is started
    keys = load_keys()
    agent = await choose_agent(connection, config, keys, options)
    before = await _spent(connection, agent)
    approval = _approval(agent)
    questions = PermissionQuestions(connection, approval.ask) if approval else None
    asked = questions.ask if questions else None
    runner = assemble(
        connection,
        config,
        keys,
        allow=options.allow,
        root=agent,
        approve=asked,
        ends_with_answer=True,
    )
    service = conversation_service(
        connection,
        config,
        keys,
        compact=runner.compact,
        allow=options.allow,
        sync_session=runner.sync_session,
    )
    asked_here = questions.asked_here if questions else frozenset[str]()
    player = ModelScriptPlayer(runner, agent, service, output, stop, approval, asked_here)
    try:
        await runner.start()
        if options.seconds is not None:
            stop.request_after(options.seconds, options.waited)
        result = await _play(player, script)
    finally:
        await runner.close()
    after = await _spent(connection, agent)
    used = _difference(after, before)
    code = Exit.BLOCKED if result.exit == Exit.OK and player.blocked else result.exit
    blocked = tuple(player.blocked)
    output.end(RunSummary(player.agent, code, used, result.problem, blocked))
    return code


def _approval(agent: AgentId) -> TerminalApproval | None:
    """Asks the person at the terminal. Without one, tools that need approval are blocked."""
    return TerminalApproval(agent) if can_ask() else None


async def _play(player: ModelScriptPlayer, script: Script | None) -> StepResult:
    if script is not None:
        result = await player.play(script)
    elif await player.has_open_turn():
        result = await player.resume()
    else:
        raise SapwoodError(
            f"{player.agent} has no open turn to continue. Give a prompt with -p, "
            "or a script on stdin."
        )
    if result.exit in (Exit.INTERRUPTED, Exit.TIMED_OUT):
        return result
    waited = await player.wait_for_descendants()
    return waited if result is OK else result


async def choose_agent(
    connection: Connection, config: Config, keys: dict[str, str], options: RunOptions
) -> AgentId:
    """Returns the named, the newest or a new agent, after changing its settings as requested.

    Raises `Failure` before anything changes if its model cannot be called, and `SapwoodError` or
    `RefusedError` if the agent cannot be used.
    """
    if options.continue_newest:
        newest = await newest_agent(connection, _folder(connection))
        if newest is None:
            raise SapwoodError(
                "There is no agent to continue in this folder. Drop --continue, or name an agent "
                "with --agent."
            )
        agent = newest
    elif options.agent and not options.new:
        agent = await find(connection, options.agent)
    else:
        return await _start(connection, config, keys, options)
    await _change_settings(connection, config, keys, options, agent)
    return agent


async def _start(
    connection: Connection, config: Config, keys: dict[str, str], options: RunOptions
) -> AgentId:
    name = options.agent or ""
    same_name = await connection.log.find(connection.space, name) if can_be_stored(name) else []
    if any(summary.name == name and summary.status == "running" for summary in same_name):
        raise SapwoodError(
            f"Agent '{name}' is already running. To continue it, drop --new; otherwise choose "
            "another name."
        )
    if connection.server is not None:
        agent = await conversation_service(connection, config, keys).start(name=name)
        await _change_settings(connection, config, keys, options, agent)
        return agent
    model = options.model or config.model
    require_model(model, config, keys)
    settings = first_settings(config, model, system=options.system, cap=options.cap)
    if options.permission_mode is not None:
        settings = structs.replace(settings, permission_mode=options.permission_mode)
    service = conversation_service(connection, config, keys)
    return await service.start(os.getcwd(), name=name, settings=settings, script=True)


async def _change_settings(
    connection: Connection,
    config: Config,
    keys: dict[str, str],
    options: RunOptions,
    agent: AgentId,
) -> None:
    state = (await connection.dispatcher.open(agent)).state
    if state.origin is not None:
        raise RefusedError(Imported(agent, state.origin.source))
    change = SettingsChange(
        system=UNSET if options.system is None else options.system,
        cap=UNSET if options.cap is None else options.cap,
        permission_mode=UNSET if options.permission_mode is None else options.permission_mode,
    )
    if options.model is not None and options.model != state.settings.model:
        change = structs.replace(change, model=options.model)
    elif connection.server is None:
        require_model(state.settings.model, config, keys)
    if change.changed_fields():
        await conversation_service(connection, config, keys).configure(agent, change)


def _folder(connection: Connection) -> str | None:
    """The folder of conversations to continue; None for those of a server, which has its own."""
    return None if connection.server else os.getcwd()


async def _spent(connection: Connection, agent: AgentId) -> Usage:
    return (await connection.dispatcher.open(agent)).state.spent


def _difference(after: Usage, before: Usage) -> Usage:
    return Usage(
        after.input - before.input,
        after.output - before.output,
        after.cache_read - before.cache_read,
        after.cache_write - before.cache_write,
        after.cost - before.cost,
        after.cache_hour - before.cache_hour,
    )
