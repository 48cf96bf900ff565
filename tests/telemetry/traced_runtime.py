"""A running agent whose tracer keeps every span."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from sapwood.api import Agent, Sapwood
from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import connect
from sapwood.core.model_calls import ToolOutcome, ToolUse
from sapwood.engine import LocalEngine
from sapwood.telemetry.spans import ModelIdentity, Spans
from sapwood.testing import NoTools
from sapwood.turns.model_access import ModelAccess

SECRET = "sk-ant-api03-" + "q" * 40
_ENDS = ("turn.completed", "turn.failed", "turn.interrupted")


class Weather(NoTools):
    """A tool that answers, and one that does not work."""

    async def run(self, use: ToolUse) -> ToolOutcome:
        if use.call.name == "weather":
            return ToolOutcome(f"-3 degrees, {SECRET}")
        return ToolOutcome("There is no wind.", error=True)


class TracedAgent:
    """A running agent and its spans."""

    def __init__(self, running: AgentRunner, agent: Agent, spans: InMemorySpanExporter) -> None:
        self.running = running
        self.agent = agent
        self._spans = spans

    async def turn(self, prompt: str) -> None:
        """Runs one turn and waits until its span has ended."""
        before = (await self.agent.state()).version
        await self.agent.run_command(prompt)
        async with asyncio.timeout(60):
            async for recorded in self.agent.follow(before):
                if recorded.kind in _ENDS:
                    break
            while not any(map(_is_ended_turn, self.spans)):  # noqa: ASYNC110  # reported a little later
                await asyncio.sleep(0.001)

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        """All that ended, in the order of their ends."""
        return self._spans.get_finished_spans()

    def named(self, start: str) -> list[ReadableSpan]:
        """Those whose name starts so."""
        return [span for span in self.spans if span.name.startswith(start)]


def _is_ended_turn(span: ReadableSpan) -> bool:
    return "sapwood.turn.status" in (span.attributes or {})


@asynccontextmanager
async def traced_agent(model: ModelAccess, *, content: bool = False) -> AsyncGenerator[TracedAgent]:
    """An agent `bird` that asks this model."""
    kept, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracing = Spans(
        provider.get_tracer("test"),
        lambda name: ModelIdentity(name, "anthropic"),
        content=content,
        close=provider.shutdown,
    )
    connection = await connect(":memory:")
    secrets = {"anthropic": SECRET}
    running = AgentRunner(connection, LocalEngine(), model, Weather(), secrets, tracing=tracing)
    await running.start()
    try:
        agent = await Sapwood(connection).start("bird", model="claude", system="Be brief.")
        yield TracedAgent(running, agent, kept)
    finally:
        await running.close()
        await connection.close()
