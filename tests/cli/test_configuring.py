"""`sapwood config` and the log file: what is set, where it came from, and what stays hidden."""

import json
import stat
from pathlib import Path

import pytest

from sapwood.cli.exit_codes import Exit
from tests.cli.calling import Sapwooder


def test_every_value_says_where_it_came_from(
    sapwood: Sapwooder, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAPWOOD_MODEL", "gpt-5")
    sapwood("config", "set", "context.cap", "50000")
    ran = sapwood("config", "--json", "--space", "tests")
    found = {value["name"]: value for value in map(json.loads, ran.out.splitlines())}
    file = str(home / ".config/sapwood/config.toml")
    assert found["model"] == {"name": "model", "value": "gpt-5", "origin": "SAPWOOD_MODEL"}
    assert found["context.cap"]["origin"] == file
    assert found["space"] == {"name": "space", "value": "tests", "origin": "--space"}
    assert found["workers"]["origin"] == ""


def test_a_value_is_set_read_and_taken_back(sapwood: Sapwooder) -> None:
    assert sapwood("config", "set", "model", "gpt-5").code == 0
    assert sapwood("config", "get", "model").out == "gpt-5\n"
    assert sapwood("config", "unset", "model").code == 0
    assert sapwood("config", "get", "model").out == "\n"


def test_a_database_is_remembered_by_its_whole_path(sapwood: Sapwooder, home: Path) -> None:
    sapwood("config", "set", "database", "mine.db")
    assert sapwood("config", "get", "database").out == f"{home / 'project' / 'mine.db'}\n"


def test_a_mistyped_setting_names_the_nearest(sapwood: Sapwooder) -> None:
    ran = sapwood("config", "set", "modle", "gpt-5")
    assert ran.code == 2
    assert "Unknown setting 'modle'. Did you mean model" in ran.err


def test_a_value_that_does_not_fit_changes_nothing(sapwood: Sapwooder, home: Path) -> None:
    ran = sapwood("config", "set", "context.cap", "many")
    assert ran.code == 2
    assert "Nothing was changed." in ran.err
    assert not (home / ".config/sapwood/config.toml").exists()


def test_a_key_is_stored_for_its_owner_alone_and_never_shown(
    sapwood: Sapwooder, home: Path
) -> None:
    ran = sapwood("config", "key", "openai", stdin="sk-proj-secret-of-mine\n")
    file = home / ".config/sapwood/keys.toml"
    assert ran.out == f"Stored in {file}.\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for command in (["config"], ["config", "--json"], ["doctor", "--offline"]):
        told = sapwood(*command)
        assert "openai" in told.out
        assert "secret-of-mine" not in told.out + told.err


def test_a_key_is_one_word(sapwood: Sapwooder, home: Path) -> None:
    assert sapwood("config", "key", "openai", stdin="two words\n").code == 2
    assert not (home / ".config/sapwood/keys.toml").exists()


def test_no_key_at_all_is_said(sapwood: Sapwooder) -> None:
    assert "No key was given." in sapwood("config", "key", "openai", stdin="\n").err


def test_a_key_for_nobody_is_refused(sapwood: Sapwooder, home: Path) -> None:
    ran = sapwood("config", "key", "anthropc", stdin="sk-ant-mine\n")
    assert ran.code == 2
    assert "There is no provider 'anthropc'. Did you mean anthropic?" in ran.err
    unknown = sapwood("config", "key", "den", stdin="mine\n").err
    assert "base_urls.den" in unknown
    assert "The providers are anthropic, openai, google." in unknown
    sapwood("config", "set", "base_urls.anthropic", "http://127.0.0.1:1")
    assert sapwood("config", "key", "den", stdin="mine\n").err == unknown  # it is listed once
    assert not (home / ".config/sapwood/keys.toml").exists()
    sapwood("config", "set", "base_urls.den", "http://127.0.0.1:1/v1")
    assert sapwood("config", "key", "den", stdin="mine\n").code == 0


def test_a_model_that_nobody_has_is_stored_with_a_doubt(sapwood: Sapwooder) -> None:
    ran = sapwood("config", "set", "model", "gtp-5")
    assert ran.code == 0
    assert "Stored, but: There is no model 'gtp-5'. Did you mean gpt-5" in ran.err
    assert sapwood("config", "set", "model", "claude-sonnet-5-5").err == ""
    assert "Stored, but: There is no" in sapwood("config", "set", "title_model", "gtp-5").err
    assert sapwood("config", "set", "title_model", "same").err == ""


def test_a_negative_number_is_a_value_and_no_option(sapwood: Sapwooder) -> None:
    ran = sapwood("config", "set", "budget.cost", "-5")
    assert "'budget.cost' cannot be '-5': it takes a number ≥ 0." in ran.err


def test_a_keys_file_that_others_can_read_is_refused(sapwood: Sapwooder, home: Path) -> None:
    sapwood("config", "key", "openai", stdin="sk-proj-secret\n")
    file = home / ".config/sapwood/keys.toml"
    file.chmod(0o644)
    ran = sapwood("config")
    assert ran.code == 2
    assert f"chmod 600 {file}" in ran.err


def test_the_password_of_a_database_is_never_shown(
    sapwood: Sapwooder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAPWOOD_DATABASE", "postgresql://ada:geheim@127.0.0.1:1/x")
    for command in (["config"], ["config", "--json"], ["doctor", "--offline"], ["agents", "-vv"]):
        told = sapwood(*command)
        assert "geheim" not in told.out + told.err


def test_what_happened_is_logged_without_what_was_said(
    sapwood: Sapwooder, demo: str, home: Path
) -> None:
    sapwood("send", demo, "The password is swordfish.")
    written = (home / ".local/state/sapwood/log/sapwood.log").read_text()
    assert "sapwood send on" in written
    assert "swordfish" not in written


def test_verbose_tells_on_stderr(sapwood: Sapwooder, demo: str) -> None:
    assert "mail.received" in sapwood("send", demo, "Hello!", "-vv").err
    assert sapwood("send", demo, "Hello!").err == ""


def test_a_log_folder_that_cannot_be_made_stops_nothing(
    sapwood: Sapwooder, demo: str, home: Path
) -> None:
    (home / ".local/state").mkdir(parents=True, exist_ok=True)
    (home / ".local/state/sapwood").write_text("in the way")
    assert sapwood("log", demo).code == 0


def test_a_file_with_a_secret_header_or_variable_is_for_its_owner_alone(
    sapwood: Sapwooder, home: Path
) -> None:
    file = home / ".config/sapwood/config.toml"
    sapwood("config", "set", "servers.docs", '{url = "https://docs.example/mcp"}')
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    ran = sapwood("config", "set", "servers.docs.headers.Authorization", "-", stdin="Bearer oak\n")
    assert ran.out == f"servers.docs.headers.Authorization = set  ({file})\n"
    assert 'Authorization = "Bearer oak"' in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    sapwood("config", "set", "model", "gpt-5")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("servers.wood", '{command = ["x"], env = {TOKEN = "oak"}}'),
        ("database", "postgresql://me:oak-ash-2024@db.example/agents"),
    ],
)
def test_a_new_file_with_a_secret_is_for_its_owner_alone(
    sapwood: Sapwooder, home: Path, name: str, value: str
) -> None:
    ran = sapwood("config", "set", name, "-", stdin=value)
    assert '"oak"' not in ran.out
    file = home / ".config/sapwood/config.toml"
    assert "oak" in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_no_password_of_an_address_is_printed_unless_it_is_asked_for(
    sapwood: Sapwooder, home: Path
) -> None:
    address = "postgresql://me:oak-ash-2024@db.example/agents"
    file = home / ".config/sapwood/config.toml"
    shown = "postgresql://me:…@db.example/agents"
    ran = sapwood("config", "set", "database", address)
    assert ran.out == f"database = {shown}  ({file})\n"
    assert sapwood("config", "get", "database").out == f"{shown}\n"
    assert sapwood("config", "get", "database", "--secrets").out == f"{address}\n"
    wrong = sapwood("config", "set", "workers", address)
    assert wrong.code == 2
    assert "oak-ash" not in wrong.out + wrong.err


def test_a_longer_text_with_an_address_keeps_its_lines(sapwood: Sapwooder) -> None:
    text = "See https://docs.example/a\nand\thttps://me:oak@docs.example/b."
    sapwood("config", "set", "compaction.keep", text)
    printed = sapwood("config", "get", "compaction.keep").out
    assert printed == "See https://docs.example/a\nand\thttps://me:…@docs.example/b.\n"


def test_a_table_is_printed_without_its_tokens(sapwood: Sapwooder) -> None:
    table = '{url = "https://me:oak@docs.example", headers = {Authorization = "Bearer ash"}}'
    said = sapwood("config", "set", "servers.docs", table).out
    said += sapwood("config", "get", "servers.docs").out
    said += sapwood("config", "get", "servers.docs.headers.Authorization").out
    assert "oak" not in said
    assert "ash" not in said
    assert said.count('url = "https://me:…@docs.example"') == 2
    assert "Bearer ash" in sapwood("config", "get", "servers.docs", "--secrets").out


def test_an_address_that_cannot_be_read_is_not_shown(sapwood: Sapwooder) -> None:
    ran = sapwood("config", "set", "base_urls.den", "http://me:oak@[den")
    assert "oak" not in ran.out + ran.err
    assert "oak" not in sapwood("config").out


def test_a_server_with_a_bad_name_is_not_added_and_stops_nothing_if_it_is_there(
    sapwood: Sapwooder, home: Path
) -> None:
    ran = sapwood("config", "set", "servers.a__b.command", '["x"]')
    assert ran.code == 2
    assert "cannot be named 'a__b': its name contains '__'" in ran.err
    assert "Choose another name. Nothing was changed." in ran.err
    file = home / ".config/sapwood/config.toml"
    assert not file.exists()
    file.parent.mkdir(parents=True)
    file.write_text("[servers.a__b]\ncommand = ['x']\n")
    assert sapwood("config", "set", "model", "gpt-5").code == 0
    assert sapwood("config", "set", "servers.a_.command", '["x"]').code == 0
    assert "'c__d'" in sapwood("config", "set", "servers.c__d.command", '["x"]').err
    assert sapwood("config", "get", "model").out == "gpt-5\n"


def test_no_value_on_stdin_changes_nothing(sapwood: Sapwooder, home: Path) -> None:
    ran = sapwood("config", "set", "model", "-", stdin="\n")
    assert ran.code == 2
    assert "No value was given. Nothing was changed." in ran.err
    assert not (home / ".config/sapwood/config.toml").exists()


@pytest.mark.parametrize(
    "typed", ["alow shell(git *)", "'alow shell(git *)'", '["alow shell(git *)"]', "alow shell"]
)
def test_what_is_no_permission_rule_is_not_stored(sapwood: Sapwooder, typed: str) -> None:
    assert sapwood("config", "set", "permissions", "allow shell(ls)").code == Exit.OK
    ran = sapwood("config", "set", "permissions", typed)
    assert (ran.code, ran.out) == (Exit.USAGE, "")
    assert "alow shell" in ran.err
    assert json.loads(sapwood("config", "get", "permissions").out) == ["allow shell(ls)"]
