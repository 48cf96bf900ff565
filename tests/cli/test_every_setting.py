"""Every setting of the reference page can be set, read back and removed with `sapwood config`."""

import re
import tomllib
from pathlib import Path

import pytest

from sapwood.config.config_file import load_config
from sapwood.config.editor import KnownSetting, known_settings, setting_help
from sapwood.config.toml_edit import toml_value
from tests.cli.calling import Sapwooder

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"
DOCUMENTED = re.findall(r"^\| `([\w.]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
BY_NAME = {setting.name: setting for setting in known_settings()}


def value_for(setting: KnownSetting) -> object:
    """A value that the setting takes, and that is not its default."""
    if setting.example:
        return tomllib.loads(f"value = {setting.example}")["value"]
    match setting.values.removeprefix("a ").split()[0].rstrip(","):
        case "whole":
            return 7
        case "number":
            return 0.25
        case "true":
            return setting.default != "true"
        case "list":
            return [0.1, 0.2, 0.3] if "number" in setting.values else ["x"]
        case "text":
            return "/x"  # a path that is whole, since that of a database is completed
        case _:
            choices = re.split(", | or ", setting.values)
            return next(each for each in choices if toml_value(each) != setting.default)


def whole_of(setting: KnownSetting) -> tuple[KnownSetting, str] | None:
    """The table of settings that a setting belongs to if it must be typed at once, and its key."""
    for whole in known_settings():
        if whole.is_whole and setting.name.startswith(f"{whole.name}."):
            return whole, setting.name.removeprefix(f"{whole.name}.")
    return None


def required_in(whole: KnownSetting) -> dict[str, object]:
    inner = {
        each.name.removeprefix(f"{whole.name}."): each
        for each in known_settings()
        if each.name.startswith(f"{whole.name}.")
    }
    return {
        key: value_for(each) for key, each in inner.items() if not each.default and "." not in key
    }


def test_the_reference_page_lists_every_setting_of_the_types() -> None:
    assert sorted(BY_NAME) == sorted(DOCUMENTED)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_documented_setting_is_set_read_back_and_removed(name: str, sapwood: Sapwooder) -> None:
    setting = BY_NAME[name]
    typed_name, value = name.replace("NAME", "mine"), value_for(setting)
    before = load_config()
    whole = whole_of(setting)
    table = whole[0].name.replace("NAME", "mine") if whole else typed_name
    if whole:
        assert sapwood("config", "set", table, whole[0].example).code == 0
    typed = value if isinstance(value, str) else toml_value(value)
    ran = sapwood("config", "set", typed_name, typed)
    if whole and ran.code:  # a value that excludes another one of its table
        sapwood("config", "unset", table)
        given = {**required_in(whole[0]), whole[1]: value}
        ran = sapwood("config", "set", table, toml_value(given))
    assert ran.code == 0, ran.err
    assert load_config() != before
    got = sapwood("config", "get", typed_name, "--secrets").out.strip()
    if isinstance(value, dict):
        assert value.items() <= tomllib.loads(f"value = {got}")["value"].items()
    else:
        assert got in (typed, f"{typed}.0")
    assert sapwood("config", "unset", table).code == 0
    assert load_config() == before


def test_the_help_of_config_set_explains_every_setting(sapwood: Sapwooder) -> None:
    shown = "".join(sapwood("config", "set", "--help").out.split())
    for setting in known_settings():
        assert setting.help.endswith(".")
        assert "".join((setting.name + setting.help).split()) in shown


@pytest.mark.parametrize("name", ["servers.docs.env.TOKEN", "base_urls.den", "screen.keys.help"])
def test_a_setting_with_a_name_of_ones_own_is_explained(name: str) -> None:
    assert setting_help(name)


def test_what_is_no_setting_has_no_help() -> None:
    assert setting_help("nothing.like.it") == ""


@pytest.mark.parametrize("call", [("set", "limits.per_spce", "5"), ("get", "limits.per_spce")])
def test_a_mistyped_setting_names_the_nearest(sapwood: Sapwooder, call: tuple[str, ...]) -> None:
    ran = sapwood("config", *call)
    assert ran.code == 2
    assert "Unknown setting 'limits.per_spce'. Did you mean limits.per_space" in ran.err


def test_the_name_of_a_table_offers_the_settings_in_it(sapwood: Sapwooder) -> None:
    ran = sapwood("config", "set", "limits", "5")
    inside = [each for each in DOCUMENTED if each.startswith("limits.")]
    assert f"Did you mean {' or '.join(inside)}?" in ran.err


def test_a_part_of_a_rule_that_is_incomplete_alone_says_how_to_set_all_of_it(
    sapwood: Sapwooder,
) -> None:
    ran = sapwood("config", "set", "retention.old.days", "30")
    assert ran.code == 2
    assert "sapwood config set retention.old '{" in ran.err
