"""Spans leave the process if that is configured; otherwise nothing is imported."""

import logging
import socket
import sys
import time

import pytest

pytest.importorskip("opentelemetry.sdk", reason="the extra 'otel' is not installed")

from sapwood.app.assembly import tracing_for
from sapwood.config.config_file import Config, TelemetryConfig
from sapwood.core.content import ToolCall
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import ToolOutcome
from sapwood.core.state import State
from sapwood.turns.trace import Tracing, Untraced
from tests.telemetry.span_collector import open_collector

STATE = State(AgentId("ada"))


def use_a_tool(tracing: Tracing) -> None:
    with tracing.tool(STATE, ToolCall("1", "look")) as ended:
        ended(ToolOutcome("Seen."))


def to(endpoint: str) -> Config:
    return Config(telemetry=TelemetryConfig(endpoint=endpoint))


def test_spans_go_to_the_configured_collector() -> None:
    with open_collector() as collector:
        tracing = tracing_for(to(collector.url), {})
        use_a_tool(tracing)
        tracing.close()
    assert collector.names == ["execute_tool look"]
    assert collector.paths == {"/v1/traces"}
    assert collector.services == {"sapwood"}


def test_the_variables_of_opentelemetry_are_heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_SERVICE_NAME", "team")
        tracing = tracing_for(Config())
        use_a_tool(tracing)
        tracing.close()
    assert collector.names == ["execute_tool look"]
    assert collector.services == {"team"}


def test_a_collector_that_is_away_costs_a_few_seconds_at_most(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens there
        tracing = tracing_for(to(f"http://127.0.0.1:{taken.getsockname()[1]}"), {})
        use_a_tool(tracing)
        started = time.monotonic()
        tracing.close()
    assert time.monotonic() - started < 30
    assert any(record.name.startswith("opentelemetry") for record in caplog.records)


@pytest.mark.parametrize(
    ("model", "provider", "name"),
    [
        ("claude-sonnet-5-5", "anthropic", "claude-sonnet-5-5"),
        ("openai-chat:gpt-4.1", "openai", "gpt-4.1"),
        ("gemini-2.5-flash", "gcp.gemini", "gemini-2.5-flash"),
        ("den:qwen3:8b", "den", "qwen3:8b"),
    ],
)
def test_providers_are_named_as_the_conventions_name_them(
    model: str, provider: str, name: str
) -> None:
    from sapwood.telemetry.spans import Spans

    config = Config(
        base_urls={"den": "http://127.0.0.1:1/v1"},
        telemetry=TelemetryConfig(endpoint="http://127.0.0.1:1"),
    )
    tracing = tracing_for(config, {})
    assert isinstance(tracing, Spans)
    asked = tracing.identify(model)
    assert (asked.provider, asked.model) == (provider, name)


def test_without_an_address_nobody_is_told() -> None:
    assert isinstance(tracing_for(Config(), {}), Untraced)


def test_without_the_extra_it_says_what_to_type(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delitem(sys.modules, "sapwood.telemetry.spans", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with caplog.at_level(logging.WARNING):
        assert isinstance(tracing_for(to("http://127.0.0.1:4318"), {}), Untraced)
    assert "pip install 'sapwood[otel]'" in caplog.text
