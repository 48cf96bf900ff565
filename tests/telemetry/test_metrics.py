"""The numbers of a process: what is counted, and the text that Prometheus reads."""

import asyncio
import logging
from collections.abc import Callable

import pytest
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, NumberDataPoint

from sapwood.api import Sapwood
from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import connect
from sapwood.core.content import Text, ToolCall, Usage
from sapwood.core.model_calls import Answer, Failure
from sapwood.core.view import Request
from sapwood.engine import LocalEngine
from sapwood.metrics import Metrics
from sapwood.telemetry.metrics_export import export_metrics
from sapwood.telemetry.metrics_tracing import MetricsTracing
from sapwood.testing import FakeModel
from sapwood.turns.trace import Untraced
from tests.telemetry.traced_runtime import Weather

USAGE = Usage(input=1_000, output=20, cache_read=900, cost=1_500)


def weather(request: Request, heard: str) -> Answer:
    if "degrees" in heard:
        return Answer((Text("Cold."),), "anthropic:claude", USAGE)
    return Answer((ToolCall("call1", "weather", "{}"),), "anthropic:claude", USAGE)


async def measured_turn(
    metrics: Metrics, model: Callable[[Request, str], Answer] = weather
) -> None:
    """Runs a turn, by default with two model calls and one tool."""
    connection = await connect(":memory:")
    tracing = MetricsTracing(metrics, Untraced())
    running = AgentRunner(
        connection, LocalEngine(), FakeModel(model), Weather(), {}, tracing=tracing
    )
    await running.start()
    try:
        agent = await Sapwood(connection).start("bird", model="claude")
        await agent.run_command("How cold is it?")
        async with asyncio.timeout(60):
            while "sapwood_turns_total" not in metrics.text():  # noqa: ASYNC110
                await asyncio.sleep(0.001)
    finally:
        await running.close()
        await connection.close()


async def test_a_turn_is_counted_with_its_calls_tools_tokens_and_cost() -> None:
    metrics = Metrics()
    await measured_turn(metrics)
    lines = metrics.text().splitlines()
    for line in (
        'sapwood_turns_total{status="completed"} 1',
        "sapwood_turns_running 0",
        "sapwood_turn_seconds_count 1",
        'sapwood_model_calls_total{model="claude",outcome="done"} 2',
        'sapwood_model_call_seconds_count{model="claude"} 2',
        'sapwood_tokens_total{kind="input",model="claude"} 2000',
        'sapwood_tokens_total{kind="cache_read",model="claude"} 1800',
        'sapwood_cost_dollars_total{model="claude"} 0.003',
        'sapwood_tool_calls_total{outcome="ok",tool="weather"} 1',
    ):
        assert line in lines, metrics.text()
    assert "How cold" not in metrics.text()


async def test_the_end_of_a_turn_is_logged_with_its_cause_and_its_cost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refuse(request: Request, heard: str) -> Answer:
        raise Failure("overloaded", "The provider asks to wait for an hour.")

    caplog.set_level(logging.INFO, "sapwood.turns")
    metrics = Metrics()
    await measured_turn(Metrics())
    await measured_turn(metrics, refuse)
    assert 'sapwood_model_calls_total{model="claude",outcome="overloaded"} 1' in metrics.text()
    done, failed = [each for each in caplog.records if each.name == "sapwood.turns"]
    fields = vars(done)["fields"]
    assert (done.levelname, fields["event"]) == ("INFO", "turn.completed")
    assert (fields["turn"], fields["model"], fields["calls"]) == (1, "claude", 2)
    assert (fields["cost"], fields["cached_tokens"]) == (0.003, 1_800)
    fields = vars(failed)["fields"]
    assert (failed.levelname, fields["event"]) == ("WARNING", "turn.failed")
    assert "asks to wait for an hour" in fields["reason"]
    assert "How cold" not in caplog.text


def test_buckets_add_up_and_every_metric_is_described_once() -> None:
    metrics = Metrics()
    for seconds in (0.05, 2.0, 1_000.0):
        metrics.observe("sapwood_turn_seconds", seconds)
    lines = metrics.text().splitlines()
    assert lines.count("# TYPE sapwood_turn_seconds histogram") == 1
    assert 'sapwood_turn_seconds_bucket{le="0.1"} 1' in lines
    assert 'sapwood_turn_seconds_bucket{le="2.5"} 2' in lines
    assert 'sapwood_turn_seconds_bucket{le="+Inf"} 3' in lines
    assert "sapwood_turn_seconds_sum 1002.05" in lines


def test_names_that_a_model_invents_do_not_fill_the_memory() -> None:
    metrics = Metrics()
    for number in range(1_000):
        metrics.add("sapwood_tool_calls_total", tool=f"tool-{number}", outcome="error")
    found = metrics.samples()
    assert len(found) == 201
    assert sum(sample.value for sample in found) == 1_000


def test_a_label_cannot_break_the_text() -> None:
    metrics = Metrics()
    metrics.add("sapwood_turns_total", status='a"b\\c\nd')
    assert 'status="a\\"b\\\\c\\nd"' in metrics.text()


def test_the_numbers_go_to_opentelemetry_too() -> None:
    metrics, reader = Metrics(), InMemoryMetricReader()
    stop = export_metrics(reader, metrics)
    metrics.add("sapwood_turns_total", 3, status="completed")
    data = reader.get_metrics_data()
    assert data is not None
    [found] = [
        metric
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if metric.name == "sapwood_turns_total"
    ]
    [point] = found.data.data_points
    assert isinstance(point, NumberDataPoint)
    assert (point.value, dict(point.attributes or {})) == (3, {"status": "completed"})
    stop()


@pytest.mark.parametrize("name", ["sapwood_turns_total", "sapwood_cost_dollars_total"])
def test_an_empty_metric_is_not_shown(name: str) -> None:
    assert name not in Metrics().text()


def test_a_number_that_nobody_described_is_refused_where_it_is_counted() -> None:
    metrics = Metrics()
    for count in (metrics.add, metrics.set, metrics.observe):
        with pytest.raises(ValueError, match="DESCRIBED"):
            count("sapwood_unknown", 1.0)
    assert not metrics.samples()
