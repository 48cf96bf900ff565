"""`sapwood keys`: a master key, the encrypted spaces, and what is said without the key."""

import stat
from pathlib import Path

import pytest

from sapwood.api import Sapwood
from tests.cli.calling import Database, Sapwooder


def test_a_key_is_made_used_changed_and_missed(
    home: Path, sapwood: Sapwooder, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home / "sapwood.key"
    assert "No space is encrypted" in sapwood("keys").out
    assert f"encryption.key_file {file}" in sapwood("keys", "--new", str(file)).out
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sapwood("config", "set", "encryption.key_file", str(file)).code == 0

    async def start(db: Sapwood) -> None:
        await db.start("demo")

    database(start)
    listed = sapwood("keys").out
    assert listed.startswith("local  key ")
    assert "does not have it" not in listed

    assert "keys --renew" in sapwood("keys", "--new", str(file)).out
    assert len(file.read_text(encoding="utf-8").split()) == 2
    assert "Re-encrypted 1 key with" in sapwood("keys", "--renew").out
    assert "demo" in sapwood("agents", "--space", "local").out

    monkeypatch.setenv("SAPWOOD_ENCRYPTION_KEY", "A" * 43 + "=")
    wrong = sapwood("agents", "--space", "local")
    assert (wrong.code, wrong.err.count("\n"), "Traceback" in wrong.err) == (4, 1, False)
    assert "Add that key" in wrong.err
    assert "does not have it" in sapwood("keys").out
    monkeypatch.delenv("SAPWOOD_ENCRYPTION_KEY")
    assert sapwood("config", "unset", "encryption.key_file").code == 0
    missing = sapwood("agents", "--space", "local")
    assert (missing.code, "is encrypted, but this program has no key" in missing.err) == (4, True)
    assert sapwood("agents", "--space", "another").code == 0
    looked = sapwood("doctor")
    assert "is encrypted, but this program has no key" in " ".join(looked.out.split())
