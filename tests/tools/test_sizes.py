"""The installs whose sizes are printed are those that pyproject.toml names."""

import pytest

from tools import sizes


def test_every_limit_is_of_an_install_that_exists() -> None:
    assert set(sizes.LIMITS) <= set(sizes.installs())


def test_an_install_that_is_too_large_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sizes, "megabytes", lambda install: 250.0)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    assert sizes.main(["all"]) == 1
    assert "larger than allowed: sapwood[all]" in capsys.readouterr().out
    assert sizes.main(["mcp"]) == 0
