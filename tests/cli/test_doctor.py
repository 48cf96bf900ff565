"""`sapwood doctor`: what works, and what to type next. It changes nothing."""

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from sapwood.store.sqlite.schema import NEWEST
from tests.cli.calling import Ran, Sapwooder
from tests.workspace.checkpoints.repositories import repository


def states(ran: Ran) -> dict[str, str]:
    return {found["topic"]: found["state"] for found in map(json.loads, ran.out.splitlines())}


def test_a_new_user_is_told_what_to_type(sapwood: Sapwooder, home: Path) -> None:
    ran = sapwood("doctor", "--offline")
    assert ran.code == 0, ran.out
    assert "NO  " not in ran.out
    assert "sapwood config key anthropic" in ran.out
    assert "sapwood config set model" in ran.out
    assert "does not exist yet" in " ".join(ran.out.split())
    assert list(home.rglob("*.db")) == []


def test_a_model_that_is_not_chosen_is_a_next_step(sapwood: Sapwooder, home: Path) -> None:
    assert states(sapwood("doctor", "--offline", "--json"))["model"] == "open"
    sapwood("install", "claude-code", "--yes")
    ran = sapwood("doctor", "--offline", "--json")
    assert states(ran)["model"] == "open"
    assert ran.code == 0, ran.out


def test_extras_take_a_line_for_those_that_are_there_and_one_for_the_others(
    sapwood: Sapwooder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def extras() -> list[tuple[str, str, str]]:
        found = map(json.loads, sapwood("doctor", "--offline", "--json").out.splitlines())
        return [(f["state"], f["says"], f["then"]) for f in found if f["topic"] == "extras"]

    assert extras()[0][0] == "ok"
    assert ", tokens" in extras()[0][1]
    monkeypatch.setattr("sapwood.doctor.checks._is_installed", set[str]().__contains__)
    [(state, says, next_step)] = extras()
    assert (state, next_step) == ("open", "pip install 'sapwood[NAME]'")
    assert says.startswith("not installed: acp, archive, ")


def test_a_database_is_examined(sapwood: Sapwooder, demo: str) -> None:
    ran = sapwood("doctor", "--offline")
    assert f"schema {NEWEST}, 1" in " ".join(ran.out.split())
    assert states(sapwood("doctor", "--offline", "--json"))["database"] == "ok"


def test_a_damaged_database_is_broken(sapwood: Sapwooder, home: Path) -> None:
    file = home / "notes.db"
    file.write_text("not a database at all, but a text of some length " * 40)
    ran = sapwood("doctor", "--offline", "--json", "-d", str(file))
    assert states(ran)["database"] == "broken"


def test_events_that_cannot_be_read_are_found(sapwood: Sapwooder, demo: str, home: Path) -> None:
    assert states(sapwood("doctor", "--offline", "--json"))["events"] == "ok"
    (file,) = home.rglob("*.db")
    with closing(sqlite3.connect(file, isolation_level=None)) as owner:
        for version, kind in ((1, "turn.dreamt"), (2, "turn.started")):
            owner.execute(
                "INSERT INTO events (space, agent, version, kind, data, at, actor, command)"
                " VALUES ('local', 'eve', ?, ?, '{}', 1, 'system', 'c')",
                (version, kind),
            )
    ran = sapwood("doctor", "--offline")
    said = " ".join(ran.out.split())
    assert "2 of" in said
    assert "eve:1 (turn.dreamt) came from a newer version of Sapwood" in said
    assert "damaged: eve:2 (turn.started: Object missing required field" in said
    assert "pip install --upgrade sapwood" in said
    assert ran.code == 1


def test_a_broken_configuration_is_found(sapwood: Sapwooder, home: Path) -> None:
    file = home / ".config/sapwood/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("model = 5")
    ran = sapwood("doctor", "--offline")
    assert ran.code == 1
    assert "is not valid" in ran.out


def test_a_model_without_a_key_is_broken(
    sapwood: Sapwooder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAPWOOD_MODEL", "gpt-5")
    ran = sapwood("doctor", "--offline")
    assert "There is no API key for OpenAI." in ran.out.replace("\n                 ", "")
    assert states(sapwood("doctor", "--offline", "--json"))["model"] == "broken"


def test_a_model_that_cannot_be_reached_is_said(
    sapwood: Sapwooder, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAPWOOD_MODEL", "den:qwen3")
    sapwood("config", "set", "base_urls.den", "http://127.0.0.1:9/v1")
    assert states(sapwood("doctor", "--json"))["network"] == "broken"
    assert "network" not in states(sapwood("doctor", "--json", "--offline"))


def test_a_name_that_is_not_found_is_said_without_a_number_of_the_system(
    sapwood: Sapwooder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAPWOOD_MODEL", "den:qwen3")
    sapwood("config", "set", "base_urls.den", "http://den.invalid/v1")
    said = " ".join(sapwood("doctor").out.split())
    assert "den.invalid cannot be reached: its name was not found. Check the network" in said
    assert "Errno" not in said


def test_an_address_that_is_set_for_other_programs_is_told(
    sapwood: Sapwooder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    assert states(sapwood("doctor", "--json", "--offline"))["address: anthropic"] == "open"
    sapwood("config", "set", "base_urls.anthropic", "http://127.0.0.1:9")
    assert "address: anthropic" not in states(sapwood("doctor", "--json", "--offline"))


def test_it_says_whether_files_can_be_taken_back(sapwood: Sapwooder, home: Path) -> None:
    def checkpoints() -> tuple[str, str]:
        found = map(json.loads, sapwood("doctor", "--offline", "--json").out.splitlines())
        return next((f["state"], f["says"]) for f in found if f["topic"] == "checkpoints")

    state, says = checkpoints()
    assert (state, "type git init there" in says) == ("open", True)
    top = repository(home / "project")
    assert checkpoints() == ("ok", f"of {top}")
    sapwood("config", "set", "checkpoints.enabled", "false")
    assert checkpoints() == ("open", "switched off")


def test_it_says_where_spans_go(sapwood: Sapwooder, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "spans" not in states(sapwood("doctor", "--offline", "--json"))
    sapwood("config", "set", "telemetry.endpoint", "http://127.0.0.1:4318")
    sapwood("config", "set", "telemetry.content", "true")
    told = " ".join(sapwood("doctor", "--offline").out.split())
    assert "sent to http://127.0.0.1:4318 with the text of conversations" in told
    monkeypatch.setattr("sapwood.doctor.checks._is_installed", set[str]().__contains__)
    assert states(sapwood("doctor", "--offline", "--json"))["spans"] == "broken"


def test_servers_whose_tools_agents_may_use_are_tried(sapwood: Sapwooder, home: Path) -> None:
    pytest.importorskip("mcp", reason="the extra 'mcp' is not installed")
    program = Path(__file__).parents[1] / "workspace" / "mcp_client" / "small_server.py"
    for name, command in {
        "wood": [sys.executable, str(program)],
        "gone": [str(home / "no-such-program")],
    }.items():
        sapwood("config", "set", f"servers.{name}.command", json.dumps(command))
    ran = sapwood("doctor", "--json")
    assert ran.err == ""
    found = {each["topic"]: each for each in map(json.loads, ran.out.splitlines())}
    assert (found["server: wood"]["state"], found["server: gone"]["state"]) == ("ok", "broken")
    assert "tools" in found["server: wood"]["says"]
    assert "could not be started" in found["server: gone"]["says"]
    assert "server: wood" not in states(sapwood("doctor", "--json", "--offline"))


def test_a_server_is_reached_and_its_schema_told(sapwood: Sapwooder, postgres_dsn: str) -> None:
    ran = sapwood("doctor", "--offline", "-d", postgres_dsn)
    assert "PostgreSQL" in ran.out
    assert states(sapwood("doctor", "--offline", "--json", "-d", postgres_dsn))["database"] == "ok"


def test_it_is_readable_at_forty_columns(
    sapwood: Sapwooder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    lines = sapwood("doctor", "--offline").out.splitlines()
    assert [line for line in lines if len(line) > 40 and " " in line.strip()] == []


def test_a_temporal_server_is_reached_and_its_workers_are_counted(
    sapwood: Sapwooder, temporal_address: str
) -> None:
    sapwood("config", "set", "engine", "temporal")
    sapwood("config", "set", "temporal.address", temporal_address)
    sapwood("config", "set", "temporal.task_queue", "of-the-doctor")
    ran = sapwood("doctor", "--json")
    assert states(ran)["engine"] == "ok"
    assert "task queue of-the-doctor with 0 workers" in ran.out


@pytest.mark.parametrize(
    ("setting", "value", "sentence"),
    [
        ("address", "127.0.0.1:1", "at 127.0.0.1:1 does not answer"),
        ("namespace", "nowhere", "temporal operator namespace create -n nowhere"),
        ("client_cert", "/no/such/file", "cannot be read"),
    ],
)
def test_a_temporal_server_that_cannot_be_used_is_broken(
    sapwood: Sapwooder, temporal_address: str, setting: str, value: str, sentence: str
) -> None:
    sapwood("config", "set", "engine", "temporal")
    sapwood("config", "set", "temporal.address", temporal_address)
    sapwood("config", "set", f"temporal.{setting}", value)
    ran = sapwood("doctor", "--json")
    assert states(ran)["engine"] == "broken"
    assert sentence in ran.out


@pytest.mark.parametrize("url", ["http://127.0.0.1:abc", "http://[::1", "http://127.0.0.1:99999"])
def test_an_address_that_is_none_is_a_finding(
    sapwood: Sapwooder, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("SAPWOOD_MODEL", "den:qwen3")
    sapwood("config", "set", "base_urls.den", url)
    ran = sapwood("doctor", "--json")
    assert states(ran)["model"] == "broken"
    assert "which is not a valid URL" in ran.out
