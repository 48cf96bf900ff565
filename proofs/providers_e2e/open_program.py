"""A session that is open in the program itself, without Sapwood."""

from types import TracebackType
from typing import Self

from proofs.agents_e2e.claude import Claude
from proofs.agents_e2e.codex import Codex
from proofs.agents_e2e.home import Home
from proofs.agents_e2e.opencode import Opencode
from proofs.agents_e2e.pi import Pi


class OpenProgram:
    """A session of one of the programs, new or resumed."""

    def __init__(self, home: Home, program: str, session: str = "") -> None:
        self._thread = ""
        match program:
            case "claude-code":
                self._driver = Claude(home, resume=session)
            case "opencode":
                self._driver = Opencode(home, resume=session)
            case "pi":
                self._driver = Pi(home, resume=session)
            case _:
                self._driver = Codex(home)
                if session:
                    self._driver.call("thread/resume", threadId=session)
                self._thread = session or self._driver.start()

    @property
    def session(self) -> str:
        """The id of the session. Claude Code has one after the first prompt."""
        return self._thread if isinstance(self._driver, Codex) else self._driver.session

    def ask(self, *prompts: str) -> None:
        """Types prompts, one after the other."""
        for prompt in prompts:
            if isinstance(self._driver, Codex):
                self._driver.ask(self._thread, prompt)
            else:
                self._driver.ask(prompt)

    def compact(self) -> None:
        """Compacts by hand."""
        match self._driver:
            case Claude():
                self._driver.ask("/compact")
            case Codex():
                self._driver.compact(self._thread)
            case Opencode():
                self._driver.compact()
            case Pi():
                self._driver.call("compact")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._driver.__exit__(kind, error, trace)


def ask_program(home: Home, program: str, prompts: list[str], session: str = "") -> str:
    """Starts the program, with a new session or a known one, and types prompts.

    Returns the id of the session.
    """
    with OpenProgram(home, program, session) as opened:
        opened.ask(*prompts)
        return opened.session
