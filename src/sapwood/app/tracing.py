"""Whether somebody is told of turns, calls and tools as they happen, and who.

Nothing of OpenTelemetry is imported unless an address for spans is configured.
"""

import logging
import os
from collections.abc import Mapping

from sapwood.app.config import Config
from sapwood.core.calling import Failure
from sapwood.models.names import resolve
from sapwood.runtime.tracing import Tracing, Untraced

__all__ = ["spans_go_to", "tracing_for"]

_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_CONVENTIONAL = {"google": "gcp.gemini"}
_log = logging.getLogger("sapwood.telemetry")


def spans_go_to(config: Config, environ: Mapping[str, str] = os.environ) -> str:
    """The address of the collector; empty if there is none."""
    named = (environ.get(variable, "") for variable in _VARIABLES)
    return config.telemetry.endpoint or next(filter(None, named), "")


def tracing_for(config: Config, environ: Mapping[str, str] = os.environ) -> Tracing:
    """Spans for the configured collector, or nobody."""
    if not spans_go_to(config, environ):
        return Untraced()
    try:
        from sapwood.telemetry.attributes import Asked
        from sapwood.telemetry.exporting import exported
    except ModuleNotFoundError:
        _log.warning(
            "Spans are configured and cannot be sent: a package is missing. "
            "Type: pip install 'sapwood[otel]'"
        )
        return Untraced()

    def identify(model: str) -> Asked:
        try:
            route = resolve(model, config.base_urls)
        except Failure:
            return Asked(model)
        return Asked(route.model, _CONVENTIONAL.get(route.account, route.account))

    return exported(config.telemetry.endpoint, identify, content=config.telemetry.content)
