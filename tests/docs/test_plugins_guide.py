"""The plug-ins of the guide are installed as their package would be, and each one is used."""

import asyncio
import io
import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

import sapwood
from sapwood.app.connection import connect
from sapwood.app.engines import engine_for
from sapwood.cli.entry import run
from sapwood.config.api_keys import load_keys
from sapwood.config.config_file import Config, load_config
from sapwood.core.ids import AgentId, Space
from sapwood.doctor.checks import check_engine
from sapwood.models.model_routes import resolve
from sapwood.programs import registry
from sapwood.workspace.function_toolbox import plugin_tools
from scripted_model import ScriptedModel

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "plugins.md").read_text(encoding="utf-8")
MODULES = {
    found[1]: found[2]
    for found in re.finditer(r"^```python no-run\n# ([\w/]+)\.py\n(.*?)^```$", GUIDE, re.M | re.S)
}
MAX_LINES = 60


def project() -> dict[str, dict[str, str]]:
    found = re.search(r"^```toml\n(.*?)^```$", GUIDE, re.M | re.S)
    assert found is not None
    return tomllib.loads(found[1])["project"]["entry-points"]


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package of the guide, in an environment with an empty home."""
    folder = tmp_path / "installed"
    about = folder / "sapwood_examples-1.0.dist-info"
    about.mkdir(parents=True)
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in points.items())
        for group, points in project().items()
    ]
    (about / "entry_points.txt").write_text("\n".join(lines))
    for name, source in MODULES.items():
        file = folder / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(source)
        module = name.replace("/", ".").removesuffix(".__init__")
        monkeypatch.delitem(sys.modules, module, raising=False)
    registry.program.cache_clear()
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SAPWOOD_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("SAPWOOD_DATABASE", str(tmp_path / "log.db"))
    monkeypatch.chdir(tmp_path)


def test_every_module_is_named_by_an_entry_point_and_is_short() -> None:
    named = [
        target.partition(":")[0] for points in project().values() for target in points.values()
    ]
    packages = {name.partition("/")[0] for name in MODULES}
    assert sorted(named) == sorted(packages)
    assert [name for name, text in MODULES.items() if len(text.splitlines()) >= MAX_LINES] == []


def test_the_command_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with sapwood.open_sync(tmp_path / "log.db") as db:
        db.start("demo")
    assert run(["count"]) == 0
    assert capsys.readouterr().out == "1\n"


def test_the_tool_is_called_by_an_agent(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tool,) = plugin_tools(["weather"])
    assert (tool.name, tool.effect) == ("weather", "none")
    with ScriptedModel() as model:
        file = tmp_path / "config.toml"
        file.write_text(
            f'tools = ["weather"]\nmodel = "acme:large"\n[base_urls]\nacme = "{model.openai_url}"\n'
        )
        monkeypatch.setenv("ACME_API_KEY", "acme-key-of-the-test")
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
        ask = 'How is it? [[tool: weather {"city": "Oslo"}]]'
        assert run(["run", "-p", ask]) == 0, capsys.readouterr().err
        assert any("Snow in Oslo." in str(request.body) for request in model.requests)


def test_the_provider_has_models_and_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    route = resolve("acme:large")
    assert (route.url, route.wire, route.variable) == (
        "https://api.acme.example/v1",
        "chat",
        "ACME_API_KEY",
    )
    monkeypatch.setenv("ACME_API_KEY", "acme-key-of-the-test")
    assert load_keys()["acme"] == "acme-key-of-the-test"


async def test_the_engine_drives_one_agent_after_the_other() -> None:
    config = Config(database="log.db", engine="in-turn")
    (found,) = await check_engine(config, online=True)
    assert found.state == "ok"
    engine, driven, both = engine_for(config), list[str](), asyncio.Event()

    async def drive(space: Space, agent: AgentId) -> None:
        driven.append(agent)
        if len(driven) == 2:
            both.set()

    await engine.launch(drive)
    for name in ("ada", "bob"):
        await engine.wake(Space("local"), AgentId(name))
    await asyncio.wait_for(both.wait(), 10)
    await engine.close()
    assert driven == ["ada", "bob"]


async def test_the_store_keeps_what_was_recorded() -> None:
    async with sapwood.open("shared://demo") as db:
        await (await db.start("demo", id="abc")).record("Hello!", "Hello to you.")
    async with sapwood.open("shared://demo") as db:
        assert len((await (await db.get("abc")).request()).messages) == 2


def test_a_command_works_on_the_store_of_a_plug_in(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["agents", "--database", "shared://empty"]) == 0
    capsys.readouterr()
    run(["doctor", "--offline", "--database", "shared://empty"])
    assert "the store of a plug-in" in " ".join(capsys.readouterr().out.split())


def test_the_page_is_a_format_of_the_export(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with sapwood.open_sync(tmp_path / "log.db") as db:
        db.start("demo").record("Hello!", "Hello to you.")
    assert run(["export", "demo", "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "version,event,actor",
        "1,agent.started,human",
        "2,turn.recorded,human",
    ]
    assert run(["export", "demo", "--format", "odt"]) != 0
    assert "There is no format 'odt'. Choose one of: " in capsys.readouterr().err


def test_the_transcripts_of_the_program_are_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its options are those of the programs that were installed when it was imported.
    monkeypatch.delitem(sys.modules, "sapwood.cli.commands.import_command", raising=False)
    folder = tmp_path / ".notes"
    folder.mkdir()
    rows = [{"notes": 7, "user": "Where do herons nest?"}, {"notes": 8, "model": "In tall trees."}]
    file = folder / "notes-seven.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert run(["import", "--notes"]) == 0, capsys.readouterr().err
    assert registry.program_title("notes") == "Notes"
    with sapwood.open_sync(tmp_path / "log.db") as db:
        (agent,) = db.agents()
        request = db.get(agent.agent).request()
    assert ["herons" in str(each) or "trees" in str(each) for each in request.messages] == [
        True
    ] * 2


async def test_an_agent_of_the_store_is_driven_in_this_process() -> None:
    config = Config(database="shared://demo")
    connection = await connect(config.address)
    assert type(engine_for(config, connection)).__name__ == "LocalEngine"
    await connection.close()
    assert load_config().engine == "auto"
