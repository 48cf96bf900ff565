"""Sends the numbers of this process to an OpenTelemetry collector, every few seconds."""

import os
from collections.abc import Callable, Iterable
from importlib import metadata

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource

from sapwood.metrics import DESCRIBED, Metrics

_TIMEOUT = 5.0
_EVERY_MILLISECONDS = 15_000


def otlp_metrics(endpoint: str, metrics: Metrics) -> Callable[[], None]:
    """Sends the numbers by OTLP over HTTP, in a thread. Returns what ends it.

    Without an endpoint the environment variables OTEL_EXPORTER_… decide.
    """
    url = f"{endpoint.rstrip('/')}/v1/metrics" if endpoint else None
    exporter = OTLPMetricExporter(endpoint=url, timeout=_TIMEOUT)
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=_EVERY_MILLISECONDS)
    return export_metrics(reader, metrics)


def export_metrics(reader: MetricReader, metrics: Metrics) -> Callable[[], None]:
    """Gives the numbers to a reader. Returns what ends it.

    A histogram goes out as the sum and the number of its durations.
    """
    version = metadata.version("sapwood")
    service = os.environ.get("OTEL_SERVICE_NAME", "sapwood")
    resource = Resource.create({SERVICE_NAME: service, SERVICE_VERSION: version})
    provider = MeterProvider([reader], resource, shutdown_on_exit=False)
    meter = provider.get_meter("sapwood", version)
    for name, (kind, _) in DESCRIBED.items():
        if kind == "gauge":
            meter.create_observable_gauge(name, [_observed(metrics, name)])
        elif kind == "counter":
            meter.create_observable_counter(name, [_observed(metrics, name)])
        else:
            for part in (f"{name}_sum", f"{name}_count"):
                meter.create_observable_counter(part, [_observed(metrics, part)])
    return provider.shutdown


def _observed(metrics: Metrics, name: str) -> Callable[[CallbackOptions], Iterable[Observation]]:
    def observe(_: CallbackOptions) -> Iterable[Observation]:
        return [
            Observation(sample.value, dict(sample.labels))
            for sample in metrics.samples()
            if sample.name == name
        ]

    return observe
