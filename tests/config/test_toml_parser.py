"""Nested text of any depth ends in a clear error, wherever a person or a program wrote it."""

import ast
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import sapwood
from sapwood.config.config_file import ConfigError, parse_config
from sapwood.config.toml_edit import parse_toml
from sapwood.mcp_server.mcp_messages import ProtocolError, parse_message
from sapwood.programs.installation.json_edit import CannotEditJson, members
from sapwood_acp.session_updates import _arguments as acp_arguments  # pyright: ignore[reportPrivateUsage] # the only parser there

DEPTHS = (101, 300, 3_000, 100_000)
DEEP = 100_000


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ("{a=", "}")])
def test_deep_toml_is_no_toml(depth: int, opening: str, closing: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError, match="nesting"):
        parse_toml(f"a = {opening * depth}1{closing * depth}")


def test_what_people_write_is_read() -> None:
    assert parse_toml("a = [[1, [2]], {b = 3}]\n[c.d]\ne = 4") == {
        "a": [[1, [2]], {"b": 3}],
        "c": {"d": {"e": 4}},
    }


def test_a_deep_configuration_is_refused_with_its_file() -> None:
    with pytest.raises(ConfigError, match=r"config\.toml is not valid TOML: it has more than"):
        parse_config(f"model = {'[' * 3_000}{']' * 3_000}", Path("config.toml"))


def _parsed_message(text: str) -> object:
    return parse_message(text.encode())


@pytest.mark.parametrize(
    ("parse", "error"), [(members, CannotEditJson), (_parsed_message, ProtocolError)]
)
def test_deep_json_is_refused(parse: Callable[[str], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        parse(f'{{"a": {"[" * DEEP}{"]" * DEEP}}}')


def test_deep_arguments_of_a_tool_call_are_shown_as_text() -> None:
    text = "[" * DEEP
    assert acp_arguments(text) == {"arguments": text}


def test_nothing_else_parses_toml() -> None:
    source = Path(sapwood.__file__).parent
    found = {
        file.name
        for file in source.rglob("*.py")
        if "tomllib" in (text := file.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and node.attr in ("loads", "load")
        if isinstance(node.value, ast.Name) and node.value.id == "tomllib"
    }
    assert found == {"toml_edit.py"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('modle = "x"', "Unknown setting 'modle'. Did you mean model"),
        ("[context]\ncapp = 5", "Unknown setting 'context.capp'. Did you mean context.cap"),
    ],
)
def test_a_setting_that_does_not_exist_comes_with_the_nearest(text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(text, Path("config.toml"))
    assert problem in str(caught.value)
