"""Starts pi in a scratch home, with the probe's own model server."""

import json
from pathlib import Path

from sapwood.private_files import replace_file


def probe_environment(home: Path, url: str, key: str) -> dict[str, str]:
    """Writes the settings of pi there; returns the variables it needs beside HOME and PATH."""
    folder = home / ".pi" / "agent"
    model = {"id": "probe-model", "name": "probe", "contextWindow": 200_000, "maxTokens": 8_000}
    provider = {"baseUrl": url, "api": "anthropic-messages", "apiKey": key, "models": [model]}
    settings = {"defaultProvider": "probe", "defaultModel": "probe-model"}
    replace_file(folder / "models.json", json.dumps({"providers": {"probe": provider}}))
    replace_file(folder / "settings.json", json.dumps(settings))
    return {"PI_CODING_AGENT_DIR": str(folder), "PI_OFFLINE": "1", "PI_TELEMETRY": "0"}


PROBE = probe_environment
