"""Commands on behalf of a turn that is being driven, which may go on in other hands meanwhile."""

from sapwood.core.commands import Command
from sapwood.core.events import SYSTEM, Actor
from sapwood.core.refusals import AskedAgain, CallStarted, Refusal, TurnEnded
from sapwood.runtime.dispatch import Dispatcher
from sapwood.runtime.fresh import given

__all__ = ["Overtaken", "give"]


class Overtaken(Exception):
    """The turn went on in other hands. Whoever starts the next one has it driven again."""


async def give(dispatcher: Dispatcher, command: Command, actor: Actor = SYSTEM) -> bool:
    """Gives a command and says whether it was carried out. Raises `Overtaken`."""
    done = await dispatcher.dispatch(command, given(actor))
    if isinstance(done, AskedAgain | CallStarted | TurnEnded):
        raise Overtaken
    return not isinstance(done, Refusal)
