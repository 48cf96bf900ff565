"""Transcripts with turns of known content, and the histories that sessions must contain."""

import json
import uuid
from pathlib import Path
from typing import Any

from sapwood.core.content import Text
from sapwood.core.ids import AgentId, TranscriptRange
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.core.turn import Reply, Turn
from sapwood.programs.agent_provider import History, HistoryTurn
from sapwood.programs.claude_code.session_file import SessionFile
from sapwood.programs.transcripts.discovery import reader_for
from sapwood.programs.transcripts.row_file import RowFile
from sapwood.programs.transcripts.session_reader import detect_file
from sapwood.programs.transcripts.transcript_events import TranscriptTurn

SESSION = "4cfa198d-2bff-4ecc-8825-6583da7ea71a"
VERSION = "2.1.325"


class SessionWriter:
    """A transcript in the form of Claude Code 2.1.325, with ids that tests can predict."""

    def __init__(self, folder: Path, session: str = SESSION) -> None:
        self.session = session
        self.path = folder / f"{session}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch()
        self.last: str | None = None
        self.turns: list[NativeRows] = []
        self.groups: list[list[str]] = []
        self._count = 0

    def add(self, kind: str, *, parent: str | None = "", moves: bool = True, **fields: Any) -> str:
        """Appends a row after the last one, and returns its id."""
        self._count += 1
        own = str(uuid.uuid5(uuid.UUID(int=0), f"{self.session} {self._count}"))
        row = {
            "parentUuid": self.last if parent == "" else parent,
            "isSidechain": False,
            "type": kind,
            **fields,
            "uuid": own,
            "timestamp": f"2026-11-14T12:00:{self._count % 60:02}.000Z",
            "cwd": "/srv/wood",
            "sessionId": self.session,
            "version": VERSION,
        }
        self.raw(json.dumps(row, separators=(",", ":")).encode() + b"\n")
        if moves:
            self.last = own
        return own

    def raw(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)

    def prompt(self, text: str) -> str:
        return self.add("user", message={"role": "user", "content": text})

    def attach(self, kind: str = "date") -> str:
        return self.add("attachment", attachment={"type": kind})

    def reply(self, message: str, *blocks: dict[str, Any]) -> list[str]:
        """One row a block, as the program writes them."""
        return [
            self.add(
                "assistant",
                message={
                    "id": message,
                    "role": "assistant",
                    "model": "claude-opus-5-5",
                    "content": [block],
                    "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn",
                },
            )
            for block in blocks
        ]

    def result(self, call: str, text: str, parent: str, *, moves: bool = True) -> str:
        block = {"tool_use_id": call, "type": "tool_result", "content": text}
        return self.add(
            "user", parent=parent, moves=moves, message={"role": "user", "content": [block]}
        )

    def turn(self, name: str, *, calls: int = 0) -> None:
        """A turn with parallel calls, subagent rows, noise between, and a row written twice."""
        group = [self.prompt(f"PROMPT {name}")]
        if not self.turns:
            group += [self.attach("environment"), self.attach()]
        if calls:
            ids = [f"toolu_{name}_{n}" for n in range(calls)]
            uses = [
                {"type": "tool_use", "id": each, "name": "Bash", "input": {"command": "ls"}}
                for each in ids
            ]
            asked = self.reply(f"msg_{name}_0", *uses)
            self.raw(b'{"type":"queue-operation","operation":"enqueue"}\n')
            sidechain = {"role": "user", "content": "subagent"}
            self.add("user", parent=None, moves=False, isSidechain=True, message=sidechain)
            results = [
                self.result(call, f"RESULT {name}", parent)
                for call, parent in zip(ids, asked, strict=True)
            ]
            group += asked + results
        group += self.reply(f"msg_{name}_1", {"type": "text", "text": f"ANSWER {name}"})
        last = self.path.read_bytes().splitlines(keepends=True)[-1]
        self.raw(last)  # the program writes rows twice after a compaction
        self.turns.append(NativeRows(self.program_session, TranscriptRange(group[0], group[-1])))
        self.groups.append([*group, self.add("system", subtype="turn_duration")])

    @property
    def program_session(self) -> ProgramSession:
        return ProgramSession("claude-code", self.session, str(self.path))

    def file(self, data: Path) -> SessionFile:
        return session_file(self.program_session, data)

    def history(self, *numbers: int, front: tuple[str, ...] = ()) -> History:
        return History(tuple(native_turn(self.turns[n]) for n in numbers), front)

    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.path.read_bytes().splitlines() if line]


def session_file(session: ProgramSession, data: Path) -> SessionFile:
    """A session whose program and private copies are in the folder `data`."""
    return SessionFile(
        session,
        home=data / "claude",
        copies=data / "copies",
        folder="/srv/wood",
        version=VERSION,
    )


def native_turn(rows: NativeRows) -> HistoryTurn:
    return HistoryTurn(neutral_turn("native", "native"), rows)


def neutral_turn(prompt: str, answer: str, number: int = 1) -> Turn:
    """A completed turn of our own loop."""
    return Turn(
        AgentId("bcdfghjkmnpq"),
        number,
        None,
        (Text(prompt),),
        (Reply(number + 1, (Text(answer),)),),
        status="completed",
        last=number + 2,
    )


def imported_history(path: Path, session: ProgramSession) -> History:
    """Every turn of a transcript, with its rows as an import stores them."""
    reader = reader_for(detect_file(path), path)
    for row, offset in RowFile(path).read(rest=True):
        reader.feed(row, offset)
    reader.finish()
    turns = [each for each in reader.events if isinstance(each, TranscriptTurn)]
    return History(
        tuple(
            native_turn(
                NativeRows(
                    session, TranscriptRange(each.first.key, each.last.key, each.last.offset)
                )
            )
            for each in turns
        )
    )


def command_turn(writer: SessionWriter, name: str) -> list[str]:
    """A turn that the user typed as a command of their own. Returns the ids of its rows."""
    typed = f"<command-message>{name}</command-message>\n<command-name>/{name}</command-name>"
    return [
        writer.prompt(typed),
        writer.add(
            "user", isMeta=True, message={"role": "user", "content": [text_block(f"DO {name}")]}
        ),
        writer.attach("command_permissions"),
        *writer.reply(f"msg_{name}", text_block(f"DONE {name}")),
        writer.add("system", subtype="stop_hook_summary"),
    ]


def local_command(writer: SessionWriter, name: str) -> list[str]:
    """A command that the program ran itself, with its output. Returns the ids of its rows."""
    caveat = "<local-command-caveat>The command below was run directly.</local-command-caveat>"
    output = f"<local-command-stdout>{name} said</local-command-stdout>"
    return [
        writer.add("user", isMeta=True, message={"role": "user", "content": caveat}),
        writer.prompt(f"<command-name>/{name}</command-name>\n<command-args></command-args>"),
        writer.add("system", subtype="local_command", content=output, isMeta=False),
    ]


def text_block(text: str) -> dict[str, str]:
    """A block of a message."""
    return {"type": "text", "text": text}
