"""Spans sent to a collector by OTLP over HTTP, in a thread of its own."""

import os
from collections.abc import Callable
from importlib import metadata

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from sapwood.telemetry.attributes import Asked
from sapwood.telemetry.spans import Spans

__all__ = ["exported"]

_SECONDS = 5.0
"""How long a collector is waited for: a command must not hang on one that is away."""


def exported(endpoint: str, identify: Callable[[str], Asked], *, content: bool = False) -> Spans:
    """Spans for the collector at this address; without one, what OTEL_EXPORTER_… say holds."""
    version = metadata.version("sapwood")
    service = os.environ.get("OTEL_SERVICE_NAME", "sapwood")
    resource = Resource.create({SERVICE_NAME: service, SERVICE_VERSION: version})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    url = f"{endpoint.rstrip('/')}/v1/traces" if endpoint else None
    exporter = OTLPSpanExporter(endpoint=url, timeout=_SECONDS)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("sapwood", version)
    return Spans(tracer, identify, content=content, close=provider.shutdown)
