"""Words of a reply reach every process as they come, whichever process calls the model (D9)."""

import asyncio
import os
import secrets
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

import sapwood
from scripted_model import ModelRequest, Reply, ReplyLike, ScriptedModel

LINE = "Herons nest in tall trees near the water, often many of them together. "


def answer(request: ModelRequest) -> ReplyLike:
    """Says the first words, and the rest much later."""
    return Reply.of(LINE * 40, stall=3.0)


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "team.db")
    return str(request.getfixturevalue("postgres_dsn"))


@pytest.fixture
def space() -> str:
    return f"streams-{secrets.token_hex(4)}"


@pytest.fixture
def worker(address: str, space: str, tmp_path: Path) -> Generator["subprocess.Popen[bytes]"]:
    with ScriptedModel() as model:
        model.script(answer)
        config = tmp_path / "config.toml"
        config.write_text(f'[base_urls]\nden = "{model.openai_url}"\n')
        environment = {
            **os.environ,
            "SAPWOOD_CONFIG": str(config),
            "SAPWOOD_DATA": str(tmp_path / "data"),
            "SAPWOOD_DATABASE": address,
        }
        command = [sys.executable, "-m", "sapwood.cli", "worker", "--spaces", space]
        with (tmp_path / "worker.log").open("wb") as log:
            process = subprocess.Popen(command, env=environment, stderr=log)
        yield process
        process.terminate()
        process.wait(60)


async def test_another_process_sees_words_before_the_reply_is_complete(
    worker: "subprocess.Popen[bytes]", address: str, space: str
) -> None:
    async with asyncio.timeout(90), sapwood.open(address, space=space) as db:
        agent = await db.start("demo", model="den:qwen3")
        followed = asyncio.create_task(_first_words(agent))
        words: list[str] = []
        complete_at_first_word = True
        turn = agent.ask("Where do herons nest?")
        async for item in turn:
            if isinstance(item, sapwood.Delta):
                if not words:
                    kinds = [event.kind for event in await agent.events()]
                    complete_at_first_word = "reply.added" in kinds
                words.append(item.text)
        assert not complete_at_first_word
        assert "".join(words) == turn.result.text == LINE * 40
        assert LINE.startswith((await followed).strip()[:10])
        kinds = [event.kind for event in await agent.events()]
        assert "reply.streamed" not in kinds


async def _first_words(agent: sapwood.Agent) -> str:
    async for item in agent.watch():
        if isinstance(item, sapwood.Delta):
            return item.text
        assert item.kind != "reply.added"
    raise AssertionError("an agent is watched for ever")
