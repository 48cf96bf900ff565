"""Telemetry: turns, model calls and tools as OpenTelemetry spans. An extra, imported on use."""
