"""Commands of the core over HTTP, for clients that use the library.

A principal gives only what a person may give. The server decides, and the principal is the actor.
Who runs a turn by itself (`agent.turn()`) can record only in turns that it has a lease of.
"""

import hashlib
from typing import get_args

import msgspec
from msgspec import Struct, structs
from starlette.responses import Response

from sapwood.conversation.script import scopes_to_send
from sapwood.core import commands
from sapwood.core.command_table import TABLE
from sapwood.core.events import Actor
from sapwood.core.lease import Lease
from sapwood.core.refusals import TurnHeld
from sapwood.core.settings import BUDGET, READING_MODES, Settings, SettingsChange, is_guarded
from sapwood_server.problems import Problem, refusal_problem
from sapwood_server.request_context import Endpoint, RequestContext, json_response

_MAX_BYTES = 8_000_000
_DEFAULTS = Settings()

_COMMANDS: dict[str, type[commands.Command]] = {
    each.__name__: each for each in get_args(commands.Command) if TABLE.is_remote(each)
}


class DispatchBody(Struct, frozen=True, kw_only=True):
    """A command of the core: its class and its fields. The same id acts once.

    `holder` is the name of the sender's lease, `call` the tool call that issued the command, and
    `request` the original request, if the command was derived from more than that. With the role
    `system`, the sender records something about its own turn.
    """

    kind: str = ""
    command: object = None
    id: str = ""
    holder: str | None = None
    call: str | None = None
    role: str | None = None
    request: str | None = None


async def dispatch(call: RequestContext) -> Response:
    """Carries out one command of the core. The same id acts once and returns the first answer."""
    body = await call.read(DispatchBody)
    command = _command(body)
    _require_scope(call, command)
    holder = _holder(call, body.holder)
    command = _with_own_lease(call, command)
    if _records_turn(command):
        await _require_lease(call, command, holder)
    done = await call.service.dispatch(
        command,
        _actor(call, command, body.role),
        call=body.call,
        command_id=await call.command_id(),
        holder=holder,
        request=body.request or "",
    )
    call.space.agents.start()
    return json_response(done)


def _command(body: DispatchBody) -> commands.Command:
    kind = _COMMANDS.get(body.kind)
    if kind is None:
        raise Problem(
            422,
            "Unknown command",
            "This command is reserved for Sapwood itself. Nothing was changed.",
        )
    try:
        return msgspec.convert(body.command, kind)
    except msgspec.MsgspecError as error:
        raise Problem(422, "Invalid command", f"The command cannot be read: {error}.") from None


def _require_scope(call: RequestContext, command: commands.Command) -> None:
    """Answers to questions, changes of permissions and other folders need the scope for them.

    So does a text in the queue, which runs later as if it was typed.
    """
    call.require_paths(command)
    match command:
        case commands.AnswerQuestion():
            call.principal.require("approve")
        case commands.QueuePrompt(text=text):
            call.principal.require(*scopes_to_send(text))
        case commands.Configure(change=change):
            _require_scope_of_change(call, change)
        case commands.StartAgent(settings=settings, origin=origin):
            if settings.permission_mode not in ("ask", *READING_MODES) or _raises_budget(settings):
                call.principal.require("approve")
            if origin is not None:
                call.require_own_machine()
        case commands.Fork(change=change):
            if change is not None:
                _require_scope_of_change(call, change)
        case _:
            pass


def _require_scope_of_change(call: RequestContext, change: SettingsChange) -> None:
    if any(map(is_guarded, change.changed_fields())):
        call.principal.require("approve")


def _raises_budget(settings: Settings) -> bool:
    """Whether a new conversation could spend more than one of the server does by default."""
    names = [name for name in Settings.__struct_fields__ if name.startswith(BUDGET)]
    limits = [(getattr(settings, name), getattr(_DEFAULTS, name)) for name in names]
    return any(limit <= 0 or limit > default for limit, default in limits)


def _holder(call: RequestContext, given: str | None) -> str:
    """The name of a lease, made the principal's own: nobody can use that of another one."""
    if not given:
        return ""
    whose = f"{call.principal.space}\n{call.principal.name}\n{given}"
    return "http-" + hashlib.sha256(whose.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _with_own_lease(call: RequestContext, command: commands.Command) -> commands.Command:
    match command:
        case (
            commands.StartTurn(lease=Lease(given, until))
            | commands.LeaseTurn(lease=Lease(given, until))
        ):
            return structs.replace(command, lease=Lease(_holder(call, given), until))
        case _:
            return command


def _records_turn(command: commands.Command) -> bool:
    """Whether the sender must have the lease of the open turn."""
    return TABLE.giver_of(type(command)) == "holder"


async def _require_lease(call: RequestContext, command: commands.Command, holder: str) -> None:
    state = (await call.space.connection.dispatcher.last_seen(command.agent)).state
    lease = state.open.lease if state.open else None
    if state.open is not None and (lease is None or lease.holder != holder):
        raise refusal_problem(TurnHeld(lease.until if lease else 0))


def _actor(call: RequestContext, command: commands.Command, role: str | None) -> Actor:
    """The principal; or, for what it records of its own turn, Sapwood or a model."""
    if role == "system" and (_records_turn(command) or isinstance(command, commands.LeaseTurn)):
        return Actor("system")
    return call.principal.actor


def dispatch_endpoints() -> tuple[Endpoint, ...]:
    """The route of commands of the core."""
    return (
        Endpoint(
            "POST",
            "/v1/dispatch",
            "write",
            dispatch,
            "Run a core command",
            request=DispatchBody,
            internal=True,
            max_bytes=_MAX_BYTES,
        ),
    )
