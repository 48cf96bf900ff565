"""Every setting is explained."""

from pathlib import Path

import pytest

from sapwood.config.editor import list_settings
from sapwood.config.setting_help import setting_help


def test_every_setting_has_a_sentence(tmp_path: Path) -> None:
    settings = list_settings({"SAPWOOD_CONFIG": str(tmp_path / "config.toml")})
    assert len(settings) > 20
    assert [each.name for each in settings if not setting_help(each.name).endswith(".")] == []


@pytest.mark.parametrize("name", ["servers.docs.env.TOKEN", "base_urls.den", "screen.keys.help"])
def test_a_setting_with_a_name_of_ones_own_is_explained_by_its_group(name: str) -> None:
    assert setting_help(name)


def test_what_is_no_setting_has_no_help() -> None:
    assert setting_help("nothing.like.it") == ""
