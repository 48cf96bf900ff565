"""One running `pi --mode rpc`: calls with their answers, and what happens in it."""

from itertools import count

from sapwood.core.model_calls import Failure
from sapwood.programs.line_process import LineProcess
from sapwood.programs.pi.program import PROGRAM
from sapwood.programs.pi.turn_events import Record, decode_record

_NUMBERS = count(1)
_SECONDS_TO_START = 60.0
_SECONDS_TO_ANSWER = 30.0


class PiProcess(LineProcess[Record, Record]):
    """The process of one session."""

    title = PROGRAM.title

    async def session_file(self) -> str:
        """The path of the session, once pi has started. Raises `Failure`."""
        state = await self.call("get_state", seconds=_SECONDS_TO_START)
        return (state.data and state.data.session_file) or ""

    async def call(
        self, kind: str, *, seconds: float = _SECONDS_TO_ANSWER, **fields: object
    ) -> Record:
        """Calls a command and waits for its answer. Raises `Failure` if pi refuses it."""
        number = str(next(_NUMBERS))
        found = await self.ask(number, {"id": number, "type": kind, **fields}, seconds)
        if not found.success:
            raise Failure("other", f"pi refused {kind}: {found.error}")
        return found

    def take(self, line: bytes) -> None:
        """Takes in one line."""
        record = decode_record(line)
        if record is not None and record.type == "response":
            self.take_answer(record.id, record)
        elif record is not None:
            self.rows.put_nowait(record)
