"""The installed Codex is found, and whether somebody is logged in."""

import stat
from pathlib import Path

import pytest

from sapwood.programs.agent_provider import ProgramInfo
from sapwood.programs.codex.provider import CodexProvider, is_logged_in
from tests.programs.proved import keep_proof


def find_codex(environ: dict[str, str]) -> ProgramInfo | None:
    return CodexProvider(Path(environ["HOME"]), environ).find()


def install(folder: Path, says: str) -> Path:
    path = folder / "codex"
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_a_program_that_was_not_probed_is_neither_in_place_nor_not(tmp_path: Path) -> None:
    path = install(tmp_path, "codex-cli 0.163.0")
    found = find_codex({"PATH": str(tmp_path), "HOME": str(tmp_path)})
    assert found is not None
    assert (found.path, found.version, found.in_place) == (str(path), "0.163.0", None)
    assert found.logged_in is False


@pytest.mark.parametrize("says", ["codex-cli 0.163.1", "codex-cli 0.163.0-alpha.2"])
def test_a_proof_does_not_count_for_another_version(tmp_path: Path, says: str) -> None:
    environ = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    keep_proof(tmp_path, "codex", install(tmp_path, "codex-cli 0.163.0"))
    proved = find_codex(environ)
    install(tmp_path, says)
    found = find_codex(environ)
    assert proved is not None
    assert found is not None
    assert (proved.in_place, found.in_place) == (True, None)


def test_a_path_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    path = install(tmp_path / "other", "codex-cli 0.163.0")
    found = find_codex({"PATH": "", "SAPWOOD_CODEX": str(path), "HOME": str(tmp_path)})
    assert found is not None
    assert found.path == str(path)


def test_a_program_without_a_version_is_none(tmp_path: Path) -> None:
    install(tmp_path, "hello")
    assert find_codex({"PATH": str(tmp_path), "HOME": str(tmp_path)}) is None


def test_credentials_are_in_a_file_or_in_the_environment(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "CODEX_HOME": str(tmp_path)}
    assert is_logged_in(environ) is False
    assert is_logged_in({**environ, "OPENAI_API_KEY": "any"}) is True
    (tmp_path / "auth.json").write_text("not JSON")
    assert is_logged_in(environ) is False
    (tmp_path / "auth.json").write_text('{"tokens": {"id_token": "x"}}')
    assert is_logged_in(environ) is True


def test_a_provider_of_the_users_own_cannot_be_known(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('model_provider = "mine"\n')
    assert is_logged_in({"HOME": str(tmp_path), "CODEX_HOME": str(tmp_path)}) is None
