"""Starts opencode in a scratch home, with the probe's own model server."""

import json
from pathlib import Path

from sapwood.private_files import replace_file


def probe_environment(home: Path, url: str, key: str) -> dict[str, str]:
    """Writes the settings of opencode there; returns the variables it needs beside HOME."""
    limit = {"context": 200_000, "output": 8_000}
    provider = {
        "npm": "@ai-sdk/anthropic",
        "name": "probe",
        "options": {"baseURL": f"{url}/v1", "apiKey": key},
        "models": {"probe-model": {"name": "probe-model", "limit": limit}},
    }
    settings = {
        "autoupdate": False,
        "share": "disabled",
        "model": "probe/probe-model",
        "small_model": "probe/probe-model",
        "compaction": {"auto": False},
        "provider": {"probe": provider},
    }
    replace_file(home / ".config" / "opencode" / "opencode.json", json.dumps(settings))
    return {
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    }


PROBE = probe_environment
