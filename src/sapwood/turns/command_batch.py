"""Many commands on one agent, decided one after the other and committed together.

For imports: many commands at once, which can be dispatched again. Each command has its own id, time
and receipt, so the log is the same as after single commits.

The digest of what a command asks for. A receipt keeps it, so that an id cannot be used twice.

It is computed after masking, so it says nothing about a secret. Fields with their default value are
left out, so a later version that adds a field computes the same digest. What differs between a
command and its retry is left out too: times, leases, the call that a reply answers, and texts that
the sender reads from files.
"""

from collections.abc import Callable, Sequence
from hashlib import blake2b

import msgspec
from msgspec import Struct, structs

from sapwood.core.commands import AddReply, Command, CommandMeta, LeaseTurn, RecordSync, StartTurn
from sapwood.core.decide import DecisionInput, decide
from sapwood.core.events import Recorded
from sapwood.core.lease import Lease
from sapwood.core.live_path import LivePath
from sapwood.core.log_values import Receipt
from sapwood.core.refusals import Refusal
from sapwood.core.state import State
from sapwood.core.token_count import Counter

SentCommand = tuple[Command, CommandMeta]
"""A command and its meta data: who, when, and under which id."""

AdmittedCommand = tuple[Command, CommandMeta, str]
"""A command that has passed the gate, its meta data, and its digest."""


class Batch(Struct, frozen=True):
    """The result of many commands: their events and receipts, and the agent after them."""

    events: tuple[Recorded, ...]
    receipts: tuple[Receipt, ...]
    state: State
    live: LivePath


def decide_all(
    state: State,
    live: LivePath,
    commands: Sequence[AdmittedCommand],
    counter_for: Callable[[str], Counter],
) -> Batch | None:
    """Decides the commands in order. Returns None if one is refused or needs more to be loaded."""
    events: list[Recorded] = []
    receipts: list[Receipt] = []
    for command, meta, digest in commands:
        counter = counter_for(state.settings.model)
        decision = decide(DecisionInput(state, live, counter), command, meta)
        if isinstance(decision, Refusal):
            return None
        for change in decision.changes:
            if change.agent != state.agent or change.state is None or change.live is None:
                return None
            recorded = [
                Recorded(change.agent, version, event, meta.at, meta.actor, meta.id)
                for version, event in enumerate(change.events, start=state.version + 1)
            ]
            events += recorded
            refs = tuple(each.ref for each in recorded)
            receipts.append(Receipt(meta.id, decision.message, refs, digest))
            state, live = change.state, change.live
    return Batch(tuple(events), tuple(receipts), state, live)


_BYTES = 16
_NO_LEASE = Lease("", 0)
_STORED_NAMES: dict[type[Command], str] = {RecordSync: "RecordAssumed"}
"""Names under which stored digests know commands that have another name now."""
_encode = msgspec.json.Encoder().encode


def _shown(parts: tuple[object, ...]) -> str:
    try:
        return ascii(parts)
    except RecursionError:  # a value that contains itself; the command with it is refused
        return ascii(parts[0])


def request_text(*parts: object) -> str:
    """What a sender was asked for, as the `request` of its command: a verb and its arguments.

    The arguments may be unchecked, as those of the command are.
    """
    try:
        return _encode(parts).decode()
    except (TypeError, ValueError, RecursionError):  # UnicodeEncodeError for a lone surrogate
        return _shown(parts)


def command_digest(command: Command, meta: CommandMeta) -> str:
    """The digest of an admitted command: of what was asked for, or else of the command itself."""
    return request_digest(meta.request) if meta.request else plain_digest(command)


def plain_digest(command: Command) -> str:
    """The digest of an admitted command itself, whatever it was made from."""
    match command:
        case StartTurn():
            command = structs.replace(command, instructions=None, lease=None)
        case AddReply():
            command = structs.replace(command, asked=0)
        case LeaseTurn():
            command = structs.replace(command, lease=_NO_LEASE)
        case _:
            pass
    name = _STORED_NAMES.get(type(command), type(command).__name__)
    return blake2b(_encode((name, command)), digest_size=_BYTES).hexdigest()


def request_digest(request: str) -> str:
    """The digest of a masked request."""
    return blake2b(request.encode(), digest_size=_BYTES).hexdigest()
