"""Ids that no store could hold are refused before anything is looked up under them."""

from sapwood.core.commands import Command, Fork, Given, Kill, Send, Succeed
from sapwood.core.ids import can_be_stored
from sapwood.core.refusals import BadId

__all__ = ["bad_id"]


def bad_id(command: Command, given: Given) -> BadId | None:
    """The refusal of the first id in a command that cannot be stored."""
    names = (command.agent, given.id, given.actor.name, *_others(command))
    return next((BadId(name) for name in names if not can_be_stored(name)), None)


def _others(command: Command) -> tuple[str, ...]:
    match command:
        case Fork():
            return (command.child,)
        case Succeed():
            return (command.successor,)
        case Send():
            return (command.sender or "",)
        case Kill():
            return (command.by or "",)
        case _:
            return ()
