"""The libraries of engines of plug-ins are imported only where these run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripted_model import ScriptedModel

_OF_PLUG_INS = {"temporalio"}
_IMPORT = re.compile(r"import time:.*\| +([\w.]+)")


def _printed(code: str, folder: Path, *arguments: str, **environ: str) -> str:
    """What the code prints. Fails if it imports a library of a plug-in."""
    command = [sys.executable, "-X", "importtime", "-c", f"import sys\n{code}", *arguments]
    own = {**os.environ, **environ}
    done = subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, check=True)
    imported = {name.partition(".")[0] for name in _IMPORT.findall(done.stderr)}
    assert "sapwood" in imported
    assert not imported & _OF_PLUG_INS
    return done.stdout


def test_the_durable_engine_is_imported_only_when_asked_for(tmp_path: Path) -> None:
    assert not _printed("import sapwood.engine", tmp_path)


_RUN = """
import runpy
sys.argv[1:] = ["run", "-p", "Hello!", "--model", "openai-chat:gpt-6.1-terra"]
try:
    runpy.run_module("sapwood.cli", run_name="__main__")
except SystemExit as end:
    assert not end.code, end.code
"""

_SCREEN = """
import asyncio
from sapwood.app.engines import LazyEngine
from sapwood.config.config_file import load_config

async def drive(space, agent):
    print("driven")
    driven.set()

async def main():
    global driven
    driven, engine = asyncio.Event(), LazyEngine(load_config())
    await engine.warm_up()
    await engine.launch(drive)
    await engine.wake("local", "ada")
    await driven.wait()
    await engine.close()

asyncio.run(main())
"""


@pytest.mark.parametrize(("code", "printed"), [(_RUN, "Hi."), (_SCREEN, "driven")])
def test_runs_and_screens_do_without_the_libraries_of_workers(
    code: str, printed: str, tmp_path: Path, postgres_dsn: str
) -> None:
    pytest.importorskip("httpx2", reason="the extra 'models' is not installed")
    with ScriptedModel() as server:
        server.script(lambda _: "Hi.")
        (tmp_path / "config.toml").write_text(f'[base_urls]\nopenai = "{server.url}/v1"\n')
        own = {"HOME": str(tmp_path), "SAPWOOD_CONFIG": str(tmp_path / "config.toml")}
        for address in (str(tmp_path / "log.db"), postgres_dsn):
            environ = {**server.env(), **own, "SAPWOOD_DATABASE": address}
            assert _printed(code, tmp_path, **environ) == f"{printed}\n"


_RUNTIME = """
import asyncio, sapwood
from sapwood.testing import FakeModel

async def main():
    model = FakeModel(lambda request, heard: f"You said: {heard}")
    async with sapwood.open(sys.argv[1]) as db, sapwood.runtime(db, models=model):
        print((await (await db.start(model="planned")).ask("Hello!")).text)

asyncio.run(main())
"""


def test_a_program_drives_agents_without_the_libraries_of_workers(
    tmp_path: Path, postgres_dsn: str
) -> None:
    for address in (str(tmp_path / "log.db"), postgres_dsn):
        assert _printed(_RUNTIME, tmp_path, address) == "You said: Hello!\n"
