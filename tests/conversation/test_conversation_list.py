"""Which conversation opens by itself."""

from sapwood.conversation.conversation_list import last_conversation
from sapwood.core.commands import StartAgent
from sapwood.core.ids import AgentId
from sapwood.core.settings import Settings, Workspace
from tests.conversation.spaces import TestSpace
from tests.store.memory_log import MemoryLog
from tests.turns.commanding import Desk

HERE = Workspace(folder="here")


async def test_the_last_chat_opens_and_not_the_newest_run_of_a_script() -> None:
    desk = Desk(MemoryLog())
    space = TestSpace(desk.log, desk.space, desk.dispatcher)
    for name, script in (("run1", True), ("chat", False), ("run2", True)):
        await desk.do(
            StartAgent(AgentId(name), settings=Settings("m"), workspace=HERE, script=script)
        )
    assert await last_conversation(space, "here") == "chat"


async def test_a_run_opens_if_there_is_no_chat() -> None:
    desk = Desk(MemoryLog())
    space = TestSpace(desk.log, desk.space, desk.dispatcher)
    await desk.do(StartAgent(AgentId("run"), workspace=HERE, script=True))
    assert await last_conversation(space, "here") == "run"
