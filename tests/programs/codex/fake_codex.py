"""A stand-in for the program `codex`: its app server, as far as the adapter uses it.

It writes the same files as Codex, and calls no model. The prompt decides what a turn does: `ask`
asks for permission, `wait` runs until it is interrupted, `die` ends the server in the turn.
"""

import fcntl
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.programs.codex.thread_files import ThreadFiles

HOME = Path(os.environ.get("CODEX_HOME", ""))


class Server:
    """One server with one thread."""

    def __init__(self) -> None:
        self.thread: ThreadFiles | None = None
        self.open_turn = ""
        self.answers: dict[int, str] = {}

    def send(self, **message: object) -> None:
        print(json.dumps(message), flush=True)

    def tell(self, method: str, **params: object) -> None:
        assert self.thread is not None
        self.send(method=method, params={"threadId": self.thread.id, **params})

    def handle(self, line: str) -> None:
        message = json.loads(line)
        if "method" not in message:
            self.go_on(message["result"]["decision"])
            return
        if "id" not in message:
            return
        method = message["method"].replace("/", "_")
        try:
            result = getattr(self, method)(**message["params"])
        except Exception as error:  # whatever goes wrong is an answer
            self.send(id=message["id"], error={"code": -32600, "message": str(error)})
        else:
            self.send(id=message["id"], result=result)
            if method == "turn_start":
                self.run(message["params"]["input"][0]["text"])

    def initialize(self, **params: object) -> dict[str, Any]:
        return {"userAgent": "fake"}

    def opened(self) -> dict[str, Any]:
        thread = self.thread
        assert thread is not None
        about = {"id": thread.id, "path": str(thread.path)}
        return {"thread": about, "sandbox": {"type": "readOnly"}}

    def lock(self) -> None:
        assert self.thread is not None
        folder = HOME / "thread-writer-locks"
        folder.mkdir(exist_ok=True)
        self.file = open(folder / f"{self.thread.id}.lock", "w")  # noqa: SIM115
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueError("already has an active writer") from None

    def thread_start(self, **params: object) -> dict[str, Any]:
        self.thread = ThreadFiles(HOME, int(time.time() * 1000) % 10**9)
        self.lock()
        return self.opened()

    def thread_resume(self, threadId: str, **params: object) -> dict[str, Any]:  # noqa: N803
        self.thread = ThreadFiles.reopen(HOME, threadId)
        self.lock()
        return self.opened()

    def thread_revert(self, threadId: str, beforeTurnId: str) -> dict[str, Any]:  # noqa: N803
        assert self.thread is not None
        self.thread.revert(beforeTurnId)
        return self.opened()

    def thread_inject_items(self, threadId: str, items: list[Any]) -> dict[str, Any]:  # noqa: N803
        assert self.thread is not None
        self.thread.inject(items)
        return {}

    def turn_start(self, **params: Any) -> dict[str, Any]:
        assert self.thread is not None
        text = params["input"][0]["text"]
        self.open_turn = self.thread.start_turn(text, params["clientUserMessageId"])
        return {"turn": {"id": self.open_turn}}

    def turn_interrupt(self, **params: object) -> dict[str, Any]:
        self.end("turn_aborted", "interrupted")
        return {}

    def run(self, text: str) -> None:
        assert self.thread is not None
        turn = self.open_turn
        if "die" in text:
            os._exit(1)
        if "ask" in text:
            item = {"type": "commandExecution", "id": "call-1"}
            self.thread.call(turn, "call-1", "rm x")
            self.tell("item/started", turnId=turn, item=item)
            about = {"threadId": self.thread.id, "turnId": turn, "itemId": "call-1"}
            params = {**about, "command": "/bin/bash -lc 'rm x'", "cwd": "/srv/wood"}
            self.send(id=77, method="item/commandExecution/requestApproval", params=params)
        elif "wait" not in text:
            self.tell("item/agentMessage/delta", turnId=turn, delta=f"answer to {text}")
            self.finish(f"answer to {text}")

    def go_on(self, decision: str) -> None:
        assert self.thread is not None
        self.thread.output(self.open_turn, "call-1", decision)
        self.thread.count_tokens(9000)
        self.finish(f"you said {decision}")

    def finish(self, text: str) -> None:
        assert self.thread is not None
        self.thread.reply(self.open_turn, text)
        self.thread.count_tokens(9000)
        last = {"inputTokens": 9000, "outputTokens": 2}
        self.tell("thread/tokenUsage/updated", turnId=self.open_turn, tokenUsage={"last": last})
        self.end("task_complete", "completed")

    def end(self, event: str, status: str) -> None:
        assert self.thread is not None
        self.thread.end_turn(self.open_turn, event)
        self.tell("turn/completed", turn={"id": self.open_turn, "status": status})


if __name__ == "__main__":
    if "--version" in sys.argv:
        print(f"codex-cli {os.environ.get('FAKE_VERSION', '0.163.0')}")
    else:
        server = Server()
        for line in sys.stdin:
            server.handle(line)
