"""A database that the real opencode wrote. `python -m tests.programs.opencode.opencode_database`
records it again, with the scripted model and no network.

The session has a text, tool calls, an edit, an aborted turn, a compaction, a reverted turn that the
next prompt deleted, and a revert that nothing followed. A second session is a fork of it.
"""

import asyncio
import os
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any  # answers are JSON

RECORDED = Path(__file__).with_name("recorded.sql")
FOLDER = "/srv/wood"
_TABLES = ("project", "session", "message", "part", "event_sequence", "event")


def make_database(home: Path) -> Path:
    """Writes the recorded database into a home of opencode; returns its path."""
    home.mkdir(parents=True, exist_ok=True)
    path = home / "opencode.db"
    with closing(sqlite3.connect(path)) as base:
        base.executescript(RECORDED.read_text(encoding="utf-8"))
    return path


def session_ids(path: Path) -> tuple[str, str]:
    """The session and its fork."""
    with closing(sqlite3.connect(path)) as base:
        rows = base.execute("SELECT id FROM session ORDER BY time_created").fetchall()
    return rows[0][0], rows[1][0]


def _dump(path: Path, project: str) -> str:
    lines: list[str] = []
    with closing(sqlite3.connect(path)) as base:
        for table in _TABLES:
            (schema,) = base.execute(
                "SELECT sql FROM sqlite_master WHERE name = ?", (table,)
            ).fetchone()
            lines.append(f"{schema};")
            for row in base.execute(f"SELECT * FROM {table} ORDER BY rowid"):
                values = ", ".join(
                    base.execute("SELECT quote(?)", (value,)).fetchone()[0] for value in row
                )
                lines.append(f"INSERT INTO {table} VALUES ({values});")
    text = "PRAGMA journal_mode = wal;\n" + "\n".join(lines) + "\n"
    return text.replace(project, FOLDER).replace(project.lstrip("/"), FOLDER.lstrip("/"))


async def _record() -> None:
    from proofs.opencode.environment import opencode_environment
    from sapwood.programs.opencode.server import OpencodeServer
    from scripted_model import ScriptedModel

    with tempfile.TemporaryDirectory(prefix="opencode-") as root, ScriptedModel() as model:
        environ = opencode_environment(Path(root) / "home", model)
        project = f"{environ['HOME']}/project"
        server = await OpencodeServer.start(f"{environ['HOME']}/bin/opencode", project, environ)
        made: Any = await server.call("POST", "/session", {"title": "Nests"})
        session = f"/session/{made['id']}"

        async def turn(text: str) -> Any:
            body = {"parts": [{"type": "text", "text": text}]}
            return await server.call("POST", f"{session}/message", body)

        async def prompts() -> list[str]:
            found: Any = await server.call("GET", f"{session}/message")
            return [each["info"]["id"] for each in found if each["info"]["role"] == "user"]

        await turn("Which birds nest here? [[say: Herons.]]")
        command = '{"command": "echo grey > a.txt; cat a.txt", "description": "try"}'
        await turn(f"Note it. [[tool: bash {command}]] [[say: Noted.]]")
        read = f'{{"filePath": "{project}/a.txt"}}'
        edit = f'{{"filePath": "{project}/a.txt", "oldString": "grey", "newString": "white"}}'
        await turn(f"Change it. [[tool: read {read}]] [[tool: edit {edit}]] [[say: Changed.]]")
        waiting = asyncio.create_task(turn("Wait. [[sleep: 30]] [[say: never]]"))
        for _ in range(200):
            if len(model.requests) and "Wait." in str(model.requests[-1].body):
                break
            await asyncio.sleep(0.05)
        await server.call("POST", f"{session}/abort", {})
        await waiting
        await turn("Go on. [[say: Here.]]")
        await server.call(
            "POST", f"{session}/summarize", {"providerID": "scripted", "modelID": "m1"}
        )
        await turn("And owls? [[say: No owls.]]")
        await server.call("POST", f"{session}/revert", {"messageID": (await prompts())[-1]})
        await turn("And storks? [[say: Two storks.]]")
        await turn("And swans? [[say: No swans.]]")
        await server.call("POST", f"{session}/fork", {"messageID": (await prompts())[2]})
        await server.call("POST", f"{session}/revert", {"messageID": (await prompts())[-1]})
        await server.close()
        base = Path(root) / "home/.local/share/opencode/opencode.db"
        RECORDED.write_text(_dump(base, project), encoding="utf-8")


if __name__ == "__main__":
    from proofs.agents_e2e.namespace import enter_namespace

    enter_namespace(sys.argv[1:], "tests.programs.opencode.opencode_database")
    os.umask(0o077)
    asyncio.run(_record())
