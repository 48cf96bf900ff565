"""Starts Claude Code in a scratch home, with the probe's own model server."""

from pathlib import Path


def probe_environment(home: Path, url: str, key: str) -> dict[str, str]:
    """The variables that Claude Code needs there, beside HOME and PATH."""
    return {
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": key,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
    }


PROBE = probe_environment
