"""A home with the settings that somebody wrote by hand, and eyes for everything in it."""

from collections.abc import Callable
from pathlib import Path

import pytest

CLAUDE = '{\n    "model": "sonnet",   \n  "permissions": {"allow": ["Bash(ls:*)"]}\n}\n'
PI = '{\n  "theme": "dark",\n  "compaction": {"reserveTokens": 9000}}'
CODEX = '# mine\nmodel = "gpt-5"   # note\n\n[tools]\nweb_search = false'

Snapshot = dict[str, bytes | None]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The programs' folders with settings in them; the last line of one has no end."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / ".local/share"))
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text(CLAUDE)
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex/config.toml").write_text(CODEX)
    (tmp_path / ".pi/agent").mkdir(parents=True)
    (tmp_path / ".pi/agent/settings.json").write_text(PI)
    return tmp_path


@pytest.fixture
def snapshot(home: Path) -> Callable[[], Snapshot]:
    """Every file and folder under the home, the journal aside."""

    def look() -> Snapshot:
        return {
            str(path.relative_to(home)): path.read_bytes() if path.is_file() else None
            for path in sorted(home.rglob("*"))
            if ".local" not in path.parts
        }

    return look
