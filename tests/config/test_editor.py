"""Configuration and keys: read, explained, changed."""

import os
import stat
from pathlib import Path

import pytest

from sapwood.config.api_keys import key_origins, load_keys, save_key
from sapwood.config.config_file import ConfigError, load_config
from sapwood.config.database_address import shown_address
from sapwood.config.editor import list_settings, set_setting, shown_value, unset_setting


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"SAPWOOD_CONFIG": str(tmp_path / "deep" / "config.toml")}


def test_a_file_that_is_not_there_is_an_empty_one(environ: dict[str, str]) -> None:
    assert load_config(environ).space == "local"


def test_the_environment_comes_before_the_file(environ: dict[str, str]) -> None:
    set_setting("model", "gpt-5", environ)
    assert load_config(environ).model == "gpt-5"
    assert load_config(environ | {"SAPWOOD_MODEL": "o3"}).model == "o3"
    origins = {each.name: each.origin for each in list_settings(environ | {"SAPWOOD_SPACE": "x"})}
    assert origins["model"] == environ["SAPWOOD_CONFIG"]
    assert origins["space"] == "SAPWOOD_SPACE"
    assert origins["database"] == ""


@pytest.mark.parametrize(
    ("name", "typed", "value"),
    [
        ("model", "gpt-5", "gpt-5"),
        ("model", "5", "5"),
        ("model", "true", "true"),
        ("context.cap", "50000", 50_000),
        ("checkpoints.enabled", "false", False),
        ("checkpoints.largest", "50000000", 50_000_000),
        ("context.low_water", "1", 1.0),
        ("context.levels", "0.1 0.2 0.3", (0.1, 0.2, 0.3)),
        ("context.levels", "[0.1, 0.2, 0.3]", (0.1, 0.2, 0.3)),
        ("permissions", "allow shell(git *)", ("allow shell(git *)",)),
        ("permissions", '["allow shell", "deny *"]', ("allow shell", "deny *")),
        ("base_urls.my.den", "http://x", {"my.den": "http://x"}),
    ],
)
def test_what_is_typed_is_taken_as_it_is_meant(
    environ: dict[str, str], name: str, typed: str, value: object
) -> None:
    set_setting(name, typed, environ)
    found: object = load_config(environ)
    for part in name.split(".")[: 1 if name.startswith("base") else None]:
        found = getattr(found, part)
    assert found == value


def test_servers_are_configured_piece_by_piece(environ: dict[str, str]) -> None:
    set_setting("servers.files.command", '["files", "--here"]', environ)
    set_setting("servers.files.env.TOKEN", "abc", environ)
    server = load_config(environ).servers["files"]
    assert server.command == ("files", "--here")
    assert server.env == {"TOKEN": "abc"}
    unset_setting("servers.files.command", environ)
    unset_setting("servers.files.env.TOKEN", environ)
    assert load_config(environ).servers == {}


@pytest.mark.parametrize("name", ["modle", "context", "context.caps", "servers", "base_urls."])
def test_a_setting_that_is_none_is_refused(environ: dict[str, str], name: str) -> None:
    with pytest.raises(ConfigError, match="Unknown setting"):
        set_setting(name, "x", environ)


def test_a_link_stays_a_link(environ: dict[str, str], tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("")
    link = Path(environ["SAPWOOD_CONFIG"])
    link.parent.mkdir()
    link.symlink_to(real)
    set_setting("model", "gpt-5", environ)
    assert link.is_symlink()
    assert "gpt-5" in real.read_text()


def test_nothing_is_left_behind(environ: dict[str, str]) -> None:
    set_setting("model", "gpt-5", environ)
    save_key("openai", "sk-1", environ)
    folder = Path(environ["SAPWOOD_CONFIG"]).parent
    assert sorted(os.listdir(folder)) == ["config.toml", "keys.toml"]


def test_keys_come_from_the_environment_or_from_a_private_file(environ: dict[str, str]) -> None:
    file = save_key("openai", 'odd"key\\', environ)
    save_key("den", "sk-2", environ)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert load_keys(environ) == {"openai": 'odd"key\\', "den": "sk-2"}
    both = environ | {"GOOGLE_API_KEY": "g", "OPENAI_API_KEY": "sk-3"}
    assert load_keys(both)["openai"] == "sk-3"
    assert key_origins(both) == {
        "den": str(file),
        "openai": "OPENAI_API_KEY",
        "google": "GOOGLE_API_KEY",
    }


def test_a_keys_file_that_is_broken_does_not_show_itself(environ: dict[str, str]) -> None:
    file = save_key("openai", "sk-1", environ)
    file.write_text('openai = "sk-secret')
    with pytest.raises(ConfigError) as caught:
        load_keys(environ)
    assert "sk-secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_provider_has_a_name_that_can_be_typed(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="is not a valid provider name"):
        save_key("my server", "sk-1", environ)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("mine.db", "mine.db"),
        ("postgresql://ada@db/x", "postgresql://ada@db/x"),
        ("postgresql://ada:pw@db:5432/x", "postgresql://ada:…@db:5432/x"),
        ("postgresql://db/x?user=ada&password=pw", "postgresql://db/x?user=ada&password=…"),
    ],
)
def test_an_address_is_shown_without_its_password(address: str, shown: str) -> None:
    assert shown_address(address) == shown


def test_setting_a_value_keeps_a_private_file_private(environ: dict[str, str]) -> None:
    file = Path(environ["SAPWOOD_CONFIG"])
    set_setting("model", "gpt-5", environ)
    file.chmod(0o600)
    set_setting("model", "o3", environ)
    unset_setting("model", environ)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "url",
    [
        "https://me:hunter2024@models.internal/v1",
        "https://models.internal/v1?api_key=hunter2024",
        "https://hunter2024hunter2024@models.internal/v1",
    ],
)
def test_passwords_in_urls_are_not_shown(environ: dict[str, str], url: str) -> None:
    set_setting("base_urls.den", url, environ)
    config = load_config(environ)
    [setting] = [each for each in list_settings(environ) if each.name == "base_urls.den"]
    shown = shown_value(setting, config)
    assert "hunter2024" not in shown
    assert "models.internal/v1" in shown
