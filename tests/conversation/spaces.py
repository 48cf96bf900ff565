"""The conversation service over a log in memory."""

from sapwood.conversation.call import Services
from sapwood.conversation.service import ConversationService
from sapwood.core.ids import Space
from sapwood.core.token_count import Counter
from sapwood.testing.core_harness import CharacterCounter
from sapwood.turns.dispatch import Dispatcher
from sapwood.turns.log import Log
from tests.turns.commanding import Desk


class TestSpace:
    """A space of an open database."""

    __test__ = False

    def __init__(self, log: Log, space: Space, dispatcher: Dispatcher) -> None:
        self.log = log
        self.space = space
        self.address = ""
        self.dispatcher = dispatcher

    def masked(self, text: str) -> str:
        return text

    def counter_for(self, model: str) -> Counter:
        return CharacterCounter()

    async def close(self) -> None:
        raise AssertionError("the log belongs to the test")


def service_of(desk: Desk) -> ConversationService:
    """The service over the log of a process."""
    return ConversationService(Services(TestSpace(desk.log, desk.space, desk.dispatcher)))
