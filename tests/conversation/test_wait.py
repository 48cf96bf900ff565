"""`/wait` of a person: it ends with mail, also if that arrives while it looks."""

from sapwood.conversation.answers import Waited
from sapwood.conversation.script import CommandStep
from sapwood.core.command_table import TABLE
from sapwood.core.commands import AddReply, CompleteTurn, Fork, Send
from sapwood.core.content import Text
from sapwood.core.events import SYSTEM
from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import AgentSummary
from tests.conversation.spaces import service_of
from tests.store.memory_log import MemoryLog
from tests.turns.commanding import AGENT, Desk

CHILD = AgentId("child")


class FinishingLog(MemoryLog):
    """A log in which the child finishes right after the first look at an agent."""

    desk: Desk | None = None

    async def summary(self, space: Space, agent: AgentId) -> AgentSummary | None:
        found = await super().summary(space, agent)
        desk, self.desk = self.desk, None
        if desk is not None:
            await desk.do(AddReply(CHILD, (Text("The gutter leaks."),)))
            await desk.do(Send(AGENT, "report", "The gutter leaks.", sender=CHILD), actor=SYSTEM)
            await desk.do(CompleteTurn(CHILD))
        return found


async def test_mail_of_a_child_that_finishes_meanwhile_is_not_missed() -> None:
    log = FinishingLog()
    desk = Desk(log)
    await desk.start()
    await desk.do(Fork(AGENT, CHILD, goal="Look at the north side."))
    log.desk = desk
    answer = await service_of(desk).answer(AGENT, CommandStep(TABLE["wait"], "10"))
    assert isinstance(answer, Waited)
    assert answer.message.startswith("Mail has arrived: 1 unread.")
