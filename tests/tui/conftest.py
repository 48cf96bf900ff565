"""What every test of a screen has: a configuration of its own, and style sheets parsed once."""

import functools
from collections.abc import Generator
from pathlib import Path

import pytest
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.css.types import CSSLocation

# pyright: reportPrivateUsage=false

_Variables = frozenset[tuple[str, str]]


@pytest.fixture(scope="session", autouse=True)
def style_sheets_parsed_once() -> Generator[None]:
    """Screens share the rules of style sheets, which Textual parses anew in each application."""
    parse_rules = Stylesheet._parse_rules

    @functools.cache
    def parsed(
        variables: _Variables,
        css: str,
        at: CSSLocation,
        default: bool,
        tie_breaker: int,
        scope: str,
    ) -> list[RuleSet]:
        sheet = Stylesheet(variables=dict(variables))
        return parse_rules(sheet, css, at, default, tie_breaker, scope)

    def shared(
        self: Stylesheet,
        css: str,
        read_from: CSSLocation,
        is_default_rules: bool = False,
        tie_breaker: int = 0,
        scope: str = "",
    ) -> list[RuleSet]:
        variables = frozenset(self._variables.items())
        return parsed(variables, css, read_from, is_default_rules, tie_breaker, scope)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", shared)
        yield


@pytest.fixture
def permission_page_takes_its_time() -> None:
    """Asked for by a test of the time in which a permission question takes no answer."""


@pytest.fixture(autouse=True)
def permission_page_answers_at_once(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spares tests the second in which a permission question takes no answer."""
    if "permission_page_takes_its_time" not in request.fixturenames:
        monkeypatch.setattr("sapwood.tui.screens.permission_page.READING_SECONDS", 0.0)


@pytest.fixture(autouse=True)
def own_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that stands for the configuration of the person."""
    file = tmp_path / "own" / "config.toml"
    monkeypatch.setenv("SAPWOOD_CONFIG", str(file))
    return file
