"""One answer of pi: `pi -p --mode json`."""

from sapwood.core.content import Usage
from sapwood.core.model_calls import Failure
from sapwood.programs.pi.rows import PiMessage, text_of, usage_of
from sapwood.programs.pi.turn_events import decode_record
from sapwood.programs.single_answer import SingleAnswer, SingleQuestion

_ARGUMENTS = (
    *("-p", "--mode", "json", "--no-session", "--no-tools", "--no-extensions", "--no-skills"),
    *("--no-prompt-templates", "--no-context-files", "--no-approve"),
)


class _Format:
    def arguments(self, question: SingleQuestion) -> list[str]:
        arguments = list(_ARGUMENTS)
        arguments += ["--model", question.model] if question.model else []
        arguments += ["--system-prompt", question.system] if question.system else []
        return arguments

    def given(self, question: SingleQuestion) -> str:
        return question.prompt

    def answer(self, output: bytes) -> SingleAnswer:
        text, failure, usage = "", "", Usage(0)
        for line in output.splitlines():
            record = decode_record(line)
            message = record.message if record and record.type == "message_end" else None
            if isinstance(message, PiMessage) and message.role == "assistant":
                text, failure = text_of(message.content), message.error_message or ""
                usage += usage_of(message) or Usage(0)
        if failure or not text:
            raise Failure("other", f"pi failed: {failure[:300] or 'it gave no answer'}")
        return SingleAnswer(text, usage)


SINGLE_ANSWER = _Format()
