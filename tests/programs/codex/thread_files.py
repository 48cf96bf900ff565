"""Writes the files of a thread as Codex 0.163.0 does: turns, reverts, injected items, forks."""

import json
import uuid
from pathlib import Path
from typing import Any

Row = dict[str, Any]
DAY = "sessions/2026/11/15"


def message(role: str, text: str) -> Row:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


class ThreadFiles:
    """A thread. `home` is the folder of Codex; `path` is the file in which it goes on."""

    def __init__(self, home: Path, number: int = 1) -> None:
        self.home = home
        self.count = number * 1000
        self.id = self.new_id()
        self.path = home / DAY / f"rollout-2026-11-15T20-00-00-{self.id}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.turns: list[tuple[str, Path, int, int, bool]] = []
        self.ordinal = -1
        self.announced = False
        self.row("session_meta", self._meta())

    @classmethod
    def reopen(cls, home: Path, thread: str) -> "ThreadFiles":
        """A thread that another process wrote. Only its turns in the last file can be reverted."""
        self = cls.__new__(cls)
        files = sorted((home / DAY).glob(f"rollout-*-{thread}*.jsonl"), key=lambda each: each.stem)
        self.home, self.id, self.path, self.turns = home, thread, files[-1], []
        self.count = int(thread[-12:], 16) + 100 * len(self.path.read_bytes().splitlines())
        self.announced, offset, self.ordinal = False, 0, -1
        for line in self.path.read_bytes().splitlines(keepends=True):
            row = json.loads(line)
            self.ordinal = row["ordinal"]
            if row["payload"].get("type") == "task_started":
                turn = row["payload"]["turn_id"]
                self.turns.append((turn, self.path, offset, self.ordinal, self.announced))
            self.announced = self.announced or row["type"] == "world_state"
            offset += len(line)
        return self

    def new_id(self) -> str:
        """Ids that grow, in the form of a UUID of version 7."""
        self.count += 1
        return str(uuid.UUID(int=(0x01A1E0E5 << 96) | (7 << 76) | (2 << 62) | self.count))

    def _meta(self, **more: object) -> Row:
        about = {"id": self.id, "cwd": "/srv/wood", "cli_version": "0.163.0"}
        return {**about, "history_mode": "paginated", **more}

    def row(self, kind: str, payload: Row) -> int:
        """Appends a row and returns where it begins."""
        self.ordinal += 1
        row = {"timestamp": "2026-11-15T20:00:00.000Z", "ordinal": self.ordinal}
        data = json.dumps({**row, "type": kind, "payload": payload}, separators=(",", ":"))
        offset = self.path.stat().st_size if self.path.exists() else 0
        with self.path.open("a") as file:
            file.write(data + "\n")
        return offset

    def event(self, kind: str, **fields: object) -> int:
        return self.row("event_msg", {"type": kind, **fields})

    def item(self, item: Row, turn: str = "") -> int:
        """An item with an id and metadata of Codex's own."""
        about = {"turn_id": turn} if turn else {}
        own = {"id": f"msg_{self.new_id()}", "internal_chat_message_metadata_passthrough": about}
        return self.row("response_item", {**item, **own})

    def announce(self, turn: str) -> None:
        """What Codex writes in front of the first prompt."""
        self.item(message("developer", "<skills_instructions>"), turn)
        self.item(message("user", "<environment_context>\n</environment_context>"), turn)
        self.row("world_state", {"full": True, "state": {"skills": 1}})
        self.announced = True

    def start_turn(self, text: str, client: str = "") -> str:
        turn = self.new_id()
        first = self.event("task_started", turn_id=turn)
        self.turns.append((turn, self.path, first, self.ordinal, self.announced))
        if not self.announced:
            self.announce(turn)
        self.row("turn_context", {"turn_id": turn, "model": "gpt-5-codex"})
        self.item(message("user", text), turn)
        item = {"type": "UserMessage", "id": self.new_id(), "client_id": client or None}
        self.event("item_completed", turn_id=turn, item=item)
        return turn

    def reply(self, turn: str, text: str, tokens: int = 9000) -> None:
        self.item(message("assistant", text), turn)
        self.usage(turn, tokens)

    def usage(self, turn: str, tokens: int) -> None:
        usage = {"input_tokens": tokens, "output_tokens": 2, "total_tokens": tokens + 2}
        self.row("token_usage_record", {"turn_id": turn, "usage": usage})

    def count_tokens(self, tokens: int) -> None:
        usage = {"input_tokens": tokens, "output_tokens": 2, "total_tokens": tokens + 2}
        self.event("token_count", info={"last_token_usage": usage, "model_context_window": 95000})

    def call(self, turn: str, call: str, command: str, tokens: int = 9000) -> None:
        arguments = json.dumps({"cmd": command})
        item = {"type": "function_call", "name": "exec_command", "call_id": call}
        self.item({**item, "arguments": arguments}, turn)
        self.usage(turn, tokens)

    def output(self, turn: str, call: str, text: str) -> None:
        self.item({"type": "function_call_output", "call_id": call, "output": text}, turn)

    def end_turn(self, turn: str, kind: str = "task_complete") -> None:
        self.event(kind, turn_id=turn)

    def turn(self, text: str, client: str = "", *, tool: bool = False) -> str:
        """A whole turn."""
        turn = self.start_turn(text, client)
        if tool:
            self.call(turn, f"call-{turn}", f"echo {text}")
            self.output(turn, f"call-{turn}", f"Process exited with code 0\n{text}")
            self.count_tokens(9000)
        self.reply(turn, f"answer to {text}")
        self.count_tokens(9000)
        self.end_turn(turn)
        return turn

    def revert(self, before: str) -> None:
        """As `thread/revert`: goes on in a further file; the old one stays as it is."""
        number = next(n for n, each in enumerate(self.turns) if each[0] == before)
        _, path, offset, ordinal, announced = self.turns[number]
        del self.turns[number:]
        segment = self.new_id()
        base = path.stem.rpartition("_")[2] if "_" in path.stem else self.id
        self.path = self.path.with_name(f"rollout-2026-11-15T20-00-01-{self.id}_{segment}.jsonl")
        self.ordinal = ordinal - 1 if announced else -1
        self.announced = announced
        more: Row = {}
        if announced:
            more = {"thread_id": base, "end_ordinal_exclusive": ordinal, "end_byte_offset": offset}
        self.row("session_meta", self._meta(**({"history_base": more} if more else {})))

    def inject(self, items: list[Row]) -> None:
        """As `thread/inject_items`."""
        if not self.announced:
            self.announce("auto-compact-1")
            self.row("turn_context", {"turn_id": "auto-compact-1", "model": "gpt-5-codex"})
        for item in items:
            self.row("response_item", item)

    def compact(self, kept: list[Row], summary: str = "") -> None:
        """As Codex compacts: its announcements come before the last message that it kept."""
        context = message("user", "<environment_context>\n</environment_context>")
        own = [message("developer", "<skills_instructions>"), context]
        items = [*kept[:-2], *own, *kept[-2:]]
        self.row("compacted", {"message": summary, "replacement_history": items})
        self.row("world_state", {"full": True, "state": {"skills": 1}})
        self.row("turn_context", {"turn_id": self.new_id(), "model": "gpt-5-codex"})

    def fork(self, last: str) -> "ThreadFiles":
        """As `thread/fork`: another thread that begins with a part of this one's file."""
        number = next(n for n, each in enumerate(self.turns) if each[0] == last)
        other = ThreadFiles.__new__(ThreadFiles)
        other.home, other.count, other.turns = self.home, self.count + 500_000, []
        other.id = other.new_id()
        other.announced = True
        other.path = self.home / DAY / f"rollout-2026-11-15T20-00-02-{other.id}.jsonl"
        end, ordinal = self.path.stat().st_size, self.ordinal + 1
        if number + 1 < len(self.turns):
            _, path, end, ordinal, _ = self.turns[number + 1]
            assert path == self.path
        base = self.path.stem.rpartition("_")[2] if "_" in self.path.stem else self.id
        other.ordinal = ordinal - 1
        place = {"end_ordinal_exclusive": ordinal, "end_byte_offset": end}
        other.row("session_meta", other._meta(history_base={"thread_id": base, **place}))
        return other
