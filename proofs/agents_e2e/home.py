"""A separate home folder: hand-written settings, the programs, and access to its files."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from sapwood.context_actions.archive_files import read_archives
from sapwood.journal import JournalEntry, read_entries
from scripted_model import ScriptedModel

_REPOSITORY = Path(__file__).resolve().parents[2]
_SECONDS = 180.0
OPENCODE_MODEL = "scripted/m1"
"""The provider and the model in the settings of opencode."""

_CLAUDE_SETTINGS = (
    '{\n    "cleanupPeriodDays": 365,   \n  "permissions": {"allow": ["Bash(ls:*)"]}}\n'
)
_CODEX_SETTINGS = """\
# mine
model_context_window = 100000   # for now
model_auto_compact_token_limit = 60000
{provider}
[tui]
animations = false"""
"""Settings as written by hand: odd spaces, comments, no newline at the end."""


class Home:
    """The home folder and the programs that run in it."""

    def __init__(self, root: Path, programs: Mapping[str, Path], model: ScriptedModel) -> None:
        self.root = root
        self.project = root / "project"
        self.data = root / "data"
        self.claude = root / ".claude"
        self.codex = root / ".codex"
        self.pi = root / ".pi" / "agent"
        self.opencode = root / ".local" / "share" / "opencode"
        for folder in (self.project, self.claude, self.codex, self.pi, root / "bin"):
            folder.mkdir(parents=True)
        for name, program in programs.items():
            (root / "bin" / name).symlink_to(program)
        (self.claude / "settings.json").write_text(_CLAUDE_SETTINGS)
        settings = _CODEX_SETTINGS.format(provider=model.codex_config())
        (self.codex / "config.toml").write_text(settings)
        self._configure_pi(model)
        self._configure_opencode(model)
        self.environ = {
            **model.env(),
            "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000",
            "HOME": str(root),
            "PATH": f"{root}/bin:{Path(sys.executable).parent}:/usr/bin:/bin",
            "PYTHONPATH": str(_REPOSITORY / "src"),
            "CLAUDE_CONFIG_DIR": str(self.claude),
            "CODEX_HOME": str(self.codex),
            "PI_CODING_AGENT_DIR": str(self.pi),
            "PI_OFFLINE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "SAPWOOD_DATA": str(self.data),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
        }

    def _configure_pi(self, model: ScriptedModel) -> None:
        offered = {"id": "m1", "name": "m1", "contextWindow": 100_000, "maxTokens": 8_000}
        used = {**offered, "reasoning": True, "input": ["text", "image"]}
        provider = {"baseUrl": model.anthropic_url, "api": "anthropic-messages", "apiKey": "x"}
        models = {"providers": {"scripted": {**provider, "models": [used]}}}
        (self.pi / "models.json").write_text(json.dumps(models))
        chosen = {"defaultProvider": "scripted", "defaultModel": "m1"}
        compaction = {"compaction": {"keepRecentTokens": 1, "reserveTokens": 10_000}}
        (self.pi / "settings.json").write_text(json.dumps({**chosen, **compaction}))

    def _configure_opencode(self, model: ScriptedModel) -> None:
        offered = {"name": "m1", "limit": {"context": 100_000, "output": 8_000}}
        shown = {"attachment": True, "modalities": {"input": ["text", "image"], "output": ["text"]}}
        provider = {
            "npm": "@ai-sdk/anthropic",
            "name": "Scripted",
            "options": {"baseURL": f"{model.anthropic_url}/v1", "apiKey": "any"},
            "models": {"m1": {**offered, **shown, "reasoning": True}},
        }
        settings = {
            "autoupdate": False,
            "share": "disabled",
            "model": OPENCODE_MODEL,
            "small_model": OPENCODE_MODEL,
            "agent": {"title": {"disable": True}},  # its prompts quote the scripts of turns
            "provider": {"scripted": provider},
        }
        path = self.root / ".config" / "opencode" / "opencode.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(settings))

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Runs a program in this home. The caller checks its exit code."""
        return subprocess.run(
            command,
            cwd=self.project,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )

    def sapwood(self, *args: str) -> subprocess.CompletedProcess[str]:
        """Runs Sapwood's own command."""
        return self.run(sys.executable, "-m", "sapwood.cli", *args)

    def snapshot(self, folder: Path) -> dict[str, str]:
        """Every file under a folder with its hash, and every folder."""
        return {str(path.relative_to(self.root)): _fingerprint(path) for path in folder.rglob("*")}

    def traces(self) -> list[str]:
        """Files and folders of the programs with our name in their path."""
        found = (path for each in (self.claude, self.codex) for path in each.rglob("*"))
        return [str(path.relative_to(self.root)) for path in found if "sapwood" in path.name]

    def archives(self) -> list[str]:
        """The texts of all archives, the newest first."""
        return [path.read_text() for path, _ in read_archives(self.data / "archives")]

    def acts(self, *deeds: str) -> list[JournalEntry]:
        """The entries of the journal."""
        acts = read_entries(self.data / "journal.jsonl")
        return [act for act in acts if not deeds or act.kind in deeds]


def _fingerprint(path: Path) -> str:
    if path.is_symlink():
        return f"-> {os.readlink(path)}"
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
