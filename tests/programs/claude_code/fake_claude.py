"""Stands for Claude Code: reads and writes its JSON lines, and writes a transcript.

A prompt is answered with its own text. `DIE` ends the program in the middle of the turn, and
`WAIT` waits until it is interrupted. With `FAKE_REQUESTS` it stores its requests.
"""

import hashlib
import json
import os
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def main() -> None:
    if "--version" in sys.argv:
        print(os.environ.get("FAKE_VERSION", "2.1.325"), "(Claude Code)")
        return
    given = dict(zip(sys.argv, sys.argv[1:], strict=False))
    session = given.get("--resume") or given["--session-id"]
    home = Path(os.environ["CLAUDE_CONFIG_DIR"])
    slug = "".join(char if char.isalnum() else "-" for char in os.path.realpath("."))
    path = home / "projects" / slug / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    listed = home / "sessions" / f"{os.getpid()}.json"
    listed.parent.mkdir(exist_ok=True)
    listed.write_text(json.dumps({"pid": os.getpid(), "sessionId": session, "status": "idle"}))
    try:
        _serve(session, path)
    finally:
        listed.unlink()


def _serve(session: str, path: Path) -> None:
    parent = _last(path)
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "control_request":
            _answer(message)
        elif message["type"] == "user":
            parent = _turn(session, path, parent, message)


def _turn(session: str, path: Path, parent: str | None, message: Row) -> str:
    asked = message["message"]["content"]
    text = asked if isinstance(asked, str) else asked[0]["text"]
    own = _write(path, session, parent, "user", {"role": "user", "content": asked}, message["uuid"])
    if text == "DIE":
        os._exit(9)
    if os.environ.get("FAKE_REQUESTS"):
        _store_request(path)
    if text == "WAIT":
        _answer(json.loads(sys.stdin.readline()))
        _say(
            {"type": "result", "subtype": "error_during_execution", "is_error": True}
            | {"terminal_reason": "aborted_streaming"}
        )
        return own
    said: Row = {
        "id": f"msg_{own}",
        "role": "assistant",
        "model": "fake",
        "stop_reason": "end_turn",
    }
    said["content"] = [{"type": "text", "text": f"You said: {text}"}]
    if text == "DIE UNWRITTEN":
        _say({"type": "assistant", "uuid": str(uuid.uuid4()), "message": said})
        os._exit(9)
    answer = _write(path, session, own, "assistant", said)
    _say({"type": "assistant", "uuid": answer, "message": said})
    _say({"type": "result", "subtype": "success", "is_error": False, "total_cost_usd": 0.25})
    return answer


def _answer(message: Row) -> None:
    response: Row = {"subtype": "success", "request_id": message["request_id"], "response": {}}
    _say({"type": "control_response", "response": response})


def _say(row: Row) -> None:
    print(json.dumps(row), flush=True)


def _write(
    path: Path, session: str, parent: str | None, kind: str, message: Row, own: str = ""
) -> str:
    own = own or str(uuid.uuid4())
    row = {"parentUuid": parent, "isSidechain": False, "type": kind, "message": message}
    row |= {"uuid": own, "timestamp": "2026-11-15T12:00:00.000Z", "sessionId": session}
    row |= {"entrypoint": os.environ.get("CLAUDE_CODE_ENTRYPOINT", "sdk-cli")}
    with path.open("a") as file:
        file.write(json.dumps(row, separators=(",", ":")) + "\n")
    return own


def _store_request(path: Path) -> None:
    """Stores a request with all messages of the transcript."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    hashes: list[str] = []
    for row in rows:
        if row["type"] in ("user", "assistant"):
            message = row["message"]
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            hashes.append(_hash({"role": message["role"], "content": blocks}))
    shape: Row = {"system": [], "tools": []}
    stored: Row = {"type": "api-request", "id": str(uuid.uuid4()), "keep": 0, "tail": hashes}
    stored |= {"timestamp": datetime.now(UTC).isoformat(), "params": {"model": "fake"}}
    stored |= {"shapeHash": _hash(shape)}
    with path.open("a") as file:
        for each in ({"type": "api-request-shape", "shape": shape}, stored):
            file.write(json.dumps(each, separators=(",", ":")) + "\n")


def _hash(value: Row) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _last(path: Path) -> str | None:
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    listed = [row for row in rows if row.get("uuid")]
    return listed[-1]["uuid"] if listed else None


if __name__ == "__main__":
    main()
