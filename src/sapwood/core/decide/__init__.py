"""`decide(inputs, command, meta)`: the events that a command leads to, or a refusal. Pure."""

from collections.abc import Callable
from typing import Any, get_args

from sapwood.core import commands
from sapwood.core.command_table import TABLE
from sapwood.core.decide import agents, contexts, drops, files, forks, turns
from sapwood.core.decide.decision import Accepted, Change, Decision, DecisionInput, Refused
from sapwood.core.decide.forks import path_after_mark
from sapwood.core.decide.guards import bad_id, require_may_run
from sapwood.core.refusals import HumanOnly, Imported, SystemOnly, TurnHeld

__all__ = ["Accepted", "Change", "Decision", "DecisionInput", "bad_id", "decide", "path_after_mark"]

# What changes the context of an imported conversation too, where a person may do it if the
# program's session can be brought to another history.
_CHANGES_SESSION: frozenset[type[commands.Command]] = frozenset(
    {
        commands.Clear,
        commands.KeepLast,
        commands.Drop,
        commands.Restore,
        commands.Load,
        commands.Rewind,
        commands.Undo,
        commands.Redo,
        commands.Compact,
    }
)

# Not allowed on an imported conversation: they happen in its own program and are imported.
_ELSEWHERE = _CHANGES_SESSION | {
    commands.StartTurn,
    commands.RecordTurn,
    commands.RecordShell,
    commands.RecordSideAnswer,
    commands.StartJob,
    commands.SetGoal,
    commands.Configure,
    commands.Send,
    commands.MaskResults,
    commands.MakeCheckpoint,
    commands.MissCheckpoint,
    commands.StartRevert,
    commands.FinishRevert,
}


def decide(
    inputs: DecisionInput, command: commands.Command, meta: commands.CommandMeta
) -> Decision:
    """Returns the events that the command leads to, or a refusal. Changes nothing."""
    if (bad := bad_id(command, meta)) is not None:
        return bad
    try:
        return _decided(inputs, command, meta)
    except Refused as refused:
        return refused.refusal


def _require_lease(
    inputs: DecisionInput, command: commands.Command, meta: commands.CommandMeta
) -> None:
    """No other process has the lease of the open turn. Everybody may interrupt a turn."""
    lease = inputs.state.open.lease if inputs.state.open else None
    if lease is None or (isinstance(command, commands.CallModel) and command.instruction):
        return
    is_late = isinstance(command, commands.InterruptTurn) and bool(meta.holder)
    if (TABLE.giver_of(type(command)) == "holder" or is_late) and lease.refuses(
        meta.holder, meta.at
    ):
        raise Refused(TurnHeld(lease.until))


def _decided(
    inputs: DecisionInput, command: commands.Command, meta: commands.CommandMeta
) -> Accepted:
    kind = type(command)
    is_model = meta.actor.role == "model"
    if is_model and not TABLE.lets_models(kind):
        raise Refused(HumanOnly(TABLE.label_of(kind)))
    if TABLE.giver_of(kind) == "system" and meta.actor.role != "system":
        raise Refused(SystemOnly(kind.__name__))
    origin = inputs.state.origin
    if origin and meta.actor.role != "system" and kind in _ELSEWHERE:
        follows = kind in _CHANGES_SESSION and inputs.can_sync and not is_model
        if not follows:
            raise Refused(Imported(inputs.state.agent, origin.source))
    _require_lease(inputs, command, meta)
    if not is_model:
        require_may_run(inputs.state, TABLE.row_of(kind))
    return _DECISIONS[kind](inputs, command, meta)


_Decide = Callable[[DecisionInput, Any, commands.CommandMeta], Accepted]


def _decisions() -> dict[type[commands.Command], _Decide]:
    """The public functions that decide a command, by the type of `command` in their signature.

    Raises `TypeError` if a command has none, or two.
    """
    found: dict[type[commands.Command], _Decide] = {}
    for module in (agents, contexts, drops, files, forks, turns):
        for name, function in vars(module).items():
            types: dict[str, Any] = getattr(function, "__annotations__", {})
            if name.startswith("_") or types.get("return") is not Accepted:
                continue
            kind = types.get("command")
            if kind is not None and found.setdefault(kind, function) is not function:
                raise TypeError(f"Two functions decide {kind.__name__}.")
    if missing := set(get_args(commands.Command)) - found.keys():
        raise TypeError(f"No function in core/decide takes {missing.pop().__name__} as `command`.")
    return found


_DECISIONS = _decisions()
