"""Stands for pi in RPC mode: reads and writes its JSON lines, and appends to a session.

A prompt is answered with the prompts that the model would get. `ASK` asks before a tool runs, `DIE`
ends the program in the middle of the turn, `DIE LATE` ends it when a tool result is in the session
and not yet printed, and `WAIT` waits until it is interrupted.
"""

import json
import os
import sys
import uuid
from pathlib import Path
from typing import Any

from sapwood.programs.pi.session_file import PiSession, create_session

Row = dict[str, Any]


class FakePi:
    """One process with one session."""

    def __init__(self, path: Path, session: str) -> None:
        self._path, self._session = path, session
        self._leaf: str | None = None
        self._load()

    def serve(self) -> None:
        while line := sys.stdin.readline():
            call = json.loads(line)
            match call["type"]:
                case "get_state":
                    self._tell(call, sessionFile=str(self._path))
                case "switch_session":
                    self._load()
                    self._tell(call)
                case "prompt":
                    self._tell(call)
                    self._turn(json.loads(call["message"].removeprefix("/sapwood-send ")))
                case _:
                    self._tell(call)

    def _load(self) -> None:
        self._leaf = PiSession(self._path).leaf or None if self._path.exists() else None

    def _turn(self, given: Row) -> None:
        text = given["content"][-1]["text"]
        if not self._path.exists():
            create_session(self._path, self._session, str(Path.cwd()), [])
        self._append({"type": "custom", "customType": "sapwood", "data": {"turn": given["turn"]}})
        self._say({"role": "user", "content": given["content"]})
        if text == "DIE":
            os._exit(9)
        if text == "DIE LATE":
            call = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}}
            self._answer([call], "toolUse")
            result = {"role": "toolResult", "toolCallId": "c1", "toolName": "bash"}
            told = {**result, "content": [{"type": "text", "text": "a.txt"}], "isError": False}
            self._append({"type": "message", "message": told})
            os._exit(9)
        if text == "WAIT":
            self._tell(json.loads(sys.stdin.readline()))
            self._answer([], "aborted", errorMessage="Request aborted")
        elif text == "ASK":
            call = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}}
            self._answer([call], "toolUse")
            asked = {"toolCallId": "c1", "toolName": "bash", "input": {"command": "ls"}}
            dialog = {"method": "input", "title": "sapwood", "placeholder": json.dumps(asked)}
            _print({"type": "extension_ui_request", "id": "q1", **dialog})
            said = json.loads(sys.stdin.readline())["value"]
            result = {"role": "toolResult", "toolCallId": "c1", "toolName": "bash"}
            self._say({**result, "content": [{"type": "text", "text": said}], "isError": False})
            self._answer([{"type": "text", "text": "done"}])
        else:
            self._answer([{"type": "text", "text": " ".join(self._prompts())}])
        _print({"type": "agent_settled"})

    def _prompts(self) -> list[str]:
        stored = PiSession(self._path)
        seen = [stored.row(each)["message"] for each in stored.view(self._leaf).seen]
        return [each["content"][0]["text"] for each in seen if each["role"] == "user"]

    def _answer(self, content: list[Row], stop: str = "stop", **fields: Any) -> None:
        usage = {"input": 7, "output": 1, "cacheRead": 3, "cacheWrite": 0}
        told = {"role": "assistant", "content": content, "model": "m1", "usage": usage}
        self._say({**told, "stopReason": stop, **fields})

    def _say(self, message: Row) -> None:
        self._append({"type": "message", "message": message})
        _print({"type": "message_end", "message": message})

    def _append(self, row: Row) -> None:
        own = uuid.uuid4().hex[:8]
        with self._path.open("a") as file:
            file.write(json.dumps({"id": own, "parentId": self._leaf, **row}) + "\n")
        self._leaf = own

    def _tell(self, call: Row, **data: Any) -> None:
        _print({"type": "response", "id": call["id"], "success": True, "data": data})


def _print(record: Row) -> None:
    print(json.dumps(record), flush=True)


def main() -> None:
    if "--version" in sys.argv:
        print("0.87.1")
        return
    given = dict(zip(sys.argv, sys.argv[1:], strict=False))
    session = given.get("--session-id", "")
    place = Path(os.environ["PI_CODING_AGENT_DIR"]) / "sessions" / "--project--"
    path = given.get("--session") or place / f"2026-11-14T12-00-00-000Z_{session}.jsonl"
    FakePi(Path(path), session).serve()


if __name__ == "__main__":
    main()
