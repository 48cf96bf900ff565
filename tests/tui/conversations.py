"""Conversations for tests and pictures: long ones, and one with every kind of row."""

from sapwood.api import Agent, Sapwood
from sapwood.core.commands import Fork
from sapwood.core.content import (
    Note,
    RecordedReply,
    RecordedResult,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from sapwood.core.ids import AgentId

CODE = '''```python
async def refresh(self, grant: Grant) -> Token:
    """Exchange a refresh token; never clear storage on 401."""
    response = await self.http.post("/token", data=grant.as_form())
    if response.status_code == 401 and grant.retries < 3:
        return await self.refresh(grant.next())
    return Token.model_validate(response.json())
```'''


async def long_talk(db: Sapwood, turns: int, *, cap: int = 0) -> Agent:
    """Turns of different heights."""
    agent = await db.start("long talk", id="longtalk", cap=cap)
    for number in range(turns):
        answer = "\n\n".join(
            f"Paragraph {line} of answer {number}." for line in range(number % 5 + 1)
        )
        await agent.record(f"Question {number}?", answer)
    return agent


async def with_tools(db: Sapwood, turns: int = 6) -> Agent:
    """Turns with a tool call of ten lines each."""
    agent = await db.start("tools", id="tools")
    for number in range(turns):
        call = ToolCall(f"c{number}", "read_file", '{"path": "src/a.py"}')
        lines = "\n".join(f"line {line} of file {number}" for line in range(10))
        await agent.record(
            f"Read {number}.",
            RecordedReply((Text("Let me look."), call)),
            RecordedResult(f"c{number}", lines),
            "Done.",
        )
    return agent


async def every_kind(db: Sapwood) -> Agent:
    """One of each: what is pruned, summarised, clipped, marked, said, called, mailed, ended."""
    agent = await db.start("every kind", id="everykind", model="claude-sonnet-5-5", cap=0)
    await agent.record("What did we decide?", "To keep the verifier until the exchange completes.")
    await agent.record("And the expiry?", "Fifteen minutes.")
    await agent.clear(1)
    await agent.record("Where is it stored?", "In the *secure* storage of the device.")
    await agent.compact(
        "OAuth for the mobile client. **Decided**: 15 minutes, secure storage.\n\n- Open: offline",
        ledger="changed src/auth/oauth.py",
        score=0.92,
    )
    for number in range(3):
        await agent.record(f"Old question {number}? " + "word " * 40, "An answer. " * 30)
    await agent.configure(cap=450)
    await agent.mark("BEFORE_REFACTOR")
    call = ToolCall("c1", "read_file", '{"path": "src/auth/tokens.py"}')
    failing = ToolCall("c2", "shell", '{"command": "just test"}')
    lines = "\n".join(f"{line}: token = refresh()" for line in range(1, 9))
    await agent.record(
        [Note("mail", "The build is red.", "k3h7wq2mzp"), Text("Why does the session drop?")],
        RecordedReply(
            (Thinking("The token may be stale.\nLook first."), Text("Let me look."), call)
        ),
        RecordedResult("c1", lines),
        RecordedReply((failing,)),
        RecordedResult("c2", "exit code 1\n2 failed", error=True),
        RecordedReply(
            (Text(f"### Plan\n\nIt must **not** clear on `401`:\n\n{CODE}\n\n1. one\n2. two"),),
            "claude-sonnet-5-5",
            Usage(1200, 98),
        ),
    )
    child = Agent(db.connection, AgentId("k3h7wq2mzp"))
    await agent.do(Fork(agent.id, child.id, None, ""))
    await child.send(agent, "The tests pass now.")
    await agent.record("And then?", "Half an ans", status="interrupted", reason="by the user")
    return agent
