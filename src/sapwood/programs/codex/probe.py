"""Starts Codex in a scratch home, with the probe's own model server."""

from pathlib import Path

from sapwood.private_files import replace_file


def probe_environment(home: Path, url: str, key: str) -> dict[str, str]:
    """Writes the settings of Codex there; returns the variables it needs beside HOME and PATH."""
    folder = home / ".codex"
    replace_file(
        folder / "config.toml",
        'model = "gpt-5-codex"\n'
        'model_provider = "probe"\n'
        'approval_policy = "never"\n'
        'sandbox_mode = "read-only"\n'
        "check_for_update_on_startup = false\n"
        "[features]\n"
        "plugins = false\n"
        "[model_providers.probe]\n"
        'name = "probe"\n'
        f'base_url = "{url}/v1"\n'
        'env_key = "CODEX_API_KEY"\n'
        'wire_api = "responses"\n'
        "supports_websockets = false\n"
        "[analytics]\n"
        "enabled = false\n",
    )
    return {"CODEX_HOME": str(folder), "CODEX_API_KEY": key}


PROBE = probe_environment
