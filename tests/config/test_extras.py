"""One command installs everything that is missing."""

import pytest

from sapwood.config import extras
from sapwood.core.errors import SapwoodError
from sapwood.tui import launcher


def test_the_screen_names_all_that_is_missing_in_one_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nothing(name: str) -> None:
        return None

    monkeypatch.setattr(extras, "find_spec", nothing)
    with pytest.raises(SapwoodError, match=r"pip install 'sapwood\[models,tui\]'$"):
        launcher.require_textual()


def test_what_is_installed_is_not_named() -> None:
    assert extras.missing_extras("models", "tui") == ()
