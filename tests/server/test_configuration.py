"""The configuration over HTTP: for the person at the machine, and read again when it changes."""

import stat
from pathlib import Path

import pytest

from sapwood.config.api_keys import keys_file, load_keys, save_key
from sapwood.config.config_file import config_file, load_config
from sapwood.config.editor import set_setting
from scripted_model import ScriptedModel
from tests.server.serving import Served

KEY = "sk-ant-right-0123456789"


@pytest.fixture(autouse=True)
def own_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A configuration file of this test."""
    monkeypatch.setenv("SAPWOOD_CONFIG", str(tmp_path / "sapwood/config.toml"))
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "SAPWOOD_MODEL"):
        monkeypatch.delenv(name, raising=False)


async def test_a_rejected_key_is_not_stored_and_a_good_one_is(served: Served) -> None:
    with ScriptedModel(key=KEY) as model:
        set_setting("base_urls.anthropic", model.anthropic_url)
        async with served.client() as client:
            chosen = {"model": "claude-sonnet-5-5"}
            missing = await client.post("/v1/setup", json=chosen)
            assert missing.json()["detail"] == "Paste an API key for Anthropic."
            wrong = await client.post("/v1/setup", json={**chosen, "key": "sk-ant-wrong"})
            assert "rejected this API key. It was not stored." in wrong.json()["detail"]
            assert load_keys() == {}
            assert load_config().model == ""
            good = await client.post("/v1/setup", json={**chosen, "key": KEY})
            assert "The API key works" in good.json()["message"]
            assert KEY not in good.text
            assert (await client.get("/v1/setup")).json()["problem"] == ""
    assert load_keys() == {"anthropic": KEY}
    assert stat.S_IMODE(keys_file().stat().st_mode) == 0o600
    assert load_config().model == "claude-sonnet-5-5"


async def test_an_unlisted_or_unknown_model_is_refused_until_it_is_meant(served: Served) -> None:
    save_key("anthropic", KEY)
    async with served.client() as client:
        doubted = await client.post("/v1/setup", json={"model": "claude-sonet-5-5"})
        assert doubted.status_code == 409
        assert "Choose it again" in doubted.json()["detail"]
        meant = {"model": "claude-sonet-5-5", "anyway": True}
        assert (await client.post("/v1/setup", json=meant)).status_code == 200
        unknown = await client.post("/v1/setup", json={"model": "heron-1", "anyway": True})
        assert unknown.status_code == 422


async def test_settings_are_changed_in_the_file_and_read_again(served: Served) -> None:
    agents = served.spaces.get("local").agents
    async with served.client() as client:
        body = {"name": "context.cap", "value": "5000"}
        assert (await client.post("/v1/settings", json=body)).status_code == 200
        found = (await client.get("/v1/settings")).json()["settings"]
        assert {"name": "context.cap", "value": "5000", "origin": str(config_file())} in found
        assert agents.config.context.cap == 5000
        wrong = await client.post("/v1/settings", json={"name": "context.cap", "value": "much"})
        assert "it takes a whole number" in wrong.json()["detail"]
        started = await client.post("/v1/agents", json={"model": ""})
        state = await served.connection.dispatcher.state(started.json()["agent"])
        assert state.settings.cap == 5000
        config_file().write_text("cap = ")
        assert (await client.get("/v1/agents")).status_code == 200
        assert agents.config.context.cap == 5000
        config_file().write_text("")
        assert (await client.get("/v1/agents")).status_code == 200
        assert agents.config.context.cap == 100_000


async def test_nobody_configures_the_machine_from_another_space(served: Served) -> None:
    async with served.client(space="tenant") as client:
        for method, path in (
            ("GET", "/v1/setup"),
            ("POST", "/v1/setup"),
            ("POST", "/v1/setup/models"),
            ("GET", "/v1/settings"),
            ("POST", "/v1/settings"),
            ("GET", "/setup"),
            ("GET", "/page/setup"),
        ):
            answer = await client.request(method, path, json={"name": "model", "value": "gpt-5"})
            assert answer.status_code == 403, path
        assert "context.cap" not in (await client.get("/settings")).text
    assert not config_file().exists()


async def test_a_program_names_no_files_by_at(served: Served, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("the heron is blue")
    save_key("anthropic", KEY)
    set_setting("model", "claude-sonnet-5-5")
    async with served.client() as client:
        text = f"Look at @{tmp_path / 'secret.txt'}"
        started = await client.post("/v1/agents", json={"text": text})
        agent = started.json()["agent"]
        log = await client.get(f"/v1/agents/{agent}/log")
    assert "Look at" in log.text
    assert "the heron is blue" not in log.text
