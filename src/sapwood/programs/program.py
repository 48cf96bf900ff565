"""What Sapwood knows of an agent program: one value for each, which everything else reads.

The value is data, so that reading it costs nothing. What a program does in its own way is in the
modules of its folder, the parts, which are imported when they are used. A part that a program does
not have is not in `parts`. The status line reads this module several times a second, so it imports
almost nothing: a struct of msgspec would double the time.
"""

import os
import re
import stat
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

if TYPE_CHECKING:
    from sapwood.core.program_session import ProgramSession
    from sapwood.programs.agent_provider import (
        AgentProvider,
        History,
        ProgramInfo,
        ProviderOptions,
        SyncResult,
    )
    from sapwood.programs.installation.installer import ProgramInstaller
    from sapwood.programs.single_answer import AnswerFormat
    from sapwood.programs.transcripts.sent_requests import SentRequests
    from sapwood.programs.transcripts.session_files import SessionFiles

_MAX_SETTINGS = 1_000_000

Part = Literal[
    "sessions",
    "sent_requests",
    "provider",
    "probe",
    "session_writer",
    "single_answer",
    "installer",
    "hooks",
]
"""What a program can do for Sapwood.

`sessions`: its transcripts can be found and read. `sent_requests`: they contain the requests to the
model. `provider`: it runs turns, and its sessions can be changed. `probe`: how it is started to
check that a session can be changed in place. `session_writer`: a session that it deleted is
written again without it; otherwise the provider does that. `single_answer`: it answers once,
without a session. `installer`: Sapwood can be connected with it. `hooks`: it calls hooks.
"""

ToolKind = Literal[
    "shell", "write_file", "edit_file", "read_file", "list_files", "search_files", "changes_nothing"
]
"""The tool of Sapwood whose permission rules apply to a tool of a program."""

READING_TOOLS: frozenset[ToolKind] = frozenset(
    {"read_file", "list_files", "search_files", "changes_nothing"}
)


class HookTrust(NamedTuple):
    """Whether the user of a program lets Sapwood's hooks run, and what to type if not."""

    state: Literal["ok", "open", "broken"]
    message: str
    next_step: str = ""


class ProgramHooks(NamedTuple):
    """The part `hooks`: what differs between the programs that call hooks.

    `compaction_limit` returns the tokens at which the user lets the program compact in a project's
    folder; None if that is not set. `compaction_values` are the values for its settings file that
    make it compact at a number of tokens, and by itself or not; with a note for the user. `trust`
    asks the program at a path whether hooks may run; None if they always may. `takes_words`: its
    summariser follows what the hook before a compaction prints.
    """

    compaction_limit: Callable[[Mapping[str, str], str], int | None]
    compaction_values: Callable[[int, bool], tuple[dict[str, int | bool], str]]
    trust: Callable[[str, Mapping[str, str]], Awaitable[HookTrust]] | None = None
    takes_words: bool = False


class Program(NamedTuple):
    """An agent program.

    `package` contains its modules. Its folder is the one that `home_variable` names, or
    `variable_folder` in that one; without the variable it is `home_folder` in the user's home.
    `executable_variable` may name another executable. `resume` is the command that resumes a
    session, without the id. `transcript_names` is a regular expression for the names of its
    transcripts; a program whose names or rows could be those of others is `asked_last`.
    `session_variable` has the id of a session in all that the session starts. By `own_variables` it
    knows that it was started by itself; they are not passed on to it. `has_status_line`: it draws
    the line that `sapwood hook status-line` prints. `own_command` is how a command of Sapwood is
    typed while a session is open, with `{}` for its name and arguments. `installed_note` is for the
    user after `sapwood install`. A probe that takes longer than `probe_seconds` has proved nothing.
    `command_folder` and `skill_folder` have the user's custom commands and skills, below its folder
    and below the folder of the same name in a workspace; commands there only with
    `has_project_commands`. `project_settings` is the user's settings file for one project, below
    its folder; `project_variable` has that folder in hooks, if a session may leave it.
    `usual_window` is the context window that it uses of the models that `usual_window_models`
    matches, unless its user asks for more; of others it uses the whole.
    """

    name: str
    title: str
    short_title: str
    package: str
    executable: str
    home_variable: str
    home_folder: str
    resume: str
    transcript_names: str
    parts: tuple[Part, ...]
    variable_folder: str = ""
    session_variable: str = ""
    own_variables: tuple[str, ...] = ()
    executable_variable: str = ""
    asked_last: bool = False
    install: str = ""
    log_in: str = ""
    installed_note: str = ""
    has_status_line: bool = False
    own_command: str = "sapwood {} --later"
    probe_seconds: float = 20.0
    command_folder: str = ""
    skill_folder: str = ""
    has_project_commands: bool = False
    project_settings: str = ""
    project_variable: str = ""
    tools: Mapping[str, ToolKind] = {}
    usual_window: int = 0
    usual_window_models: str = ""

    @property
    def runs_turns(self) -> bool:
        """Whether it can be the model of an agent, and its sessions can be changed."""
        return "provider" in self.parts

    def home(self, environ: Mapping[str, str] = os.environ) -> Path:
        """The folder of its sessions and settings."""
        named = environ.get(self.home_variable)
        if named:
            return Path(named, self.variable_folder)
        return user_home(environ) / self.home_folder

    def project_file(self, folder: str | Path) -> Path:
        """The user's settings file for the project in a folder."""
        return Path(folder, self.project_settings)

    def executable_path(self, environ: Mapping[str, str] = os.environ) -> str | None:
        """The program that `executable_variable` names, else the one on the PATH."""
        import shutil

        named = environ.get(self.executable_variable)
        return shutil.which(named or self.executable, path=environ.get("PATH"))

    def resume_command(self, session: str) -> str:
        """The command that resumes a session; empty without an id.

        A transcript contains its own id. One that the program would read as an option has no
        command.
        """
        import shlex

        if not session or session.lstrip().startswith("-") or not session.isprintable():
            return ""
        return f"{self.resume} {shlex.quote(session)}"

    @property
    def sessions(self) -> "SessionFiles":
        """Finds, recognizes and reads its transcripts."""
        return cast("SessionFiles", self._part("sessions"))

    @property
    def sent_requests(self) -> "SentRequests":
        """Rebuilds the requests that it sent."""
        return cast("SentRequests", self._part("sent_requests"))

    @property
    def single_answer(self) -> "AnswerFormat":
        """How it is asked once."""
        return cast("AnswerFormat", self._part("single_answer"))

    @property
    def installer(self) -> "ProgramInstaller":
        """Describes the changes that connect Sapwood with it."""
        return cast("ProgramInstaller", self._part("installer"))

    @property
    def hooks(self) -> ProgramHooks:
        """What differs in its hooks."""
        return cast("ProgramHooks", self._part("hooks"))

    def provider(
        self,
        data: Path | None,
        environ: Mapping[str, str],
        under_test: "ProgramInfo | None" = None,
    ) -> "AgentProvider":
        """Makes the adapter that runs turns. `data` is where it keeps private copies.

        With `under_test` it uses this program, and changes sessions in place without a proof.
        """
        made = cast("Callable[..., AgentProvider]", self._part("provider"))
        return made(data, environ, under_test)

    @property
    def session_writer(
        self,
    ) -> "Callable[[ProgramSession, History, ProviderOptions, Path], SyncResult]":
        """Writes a session that the program deleted again. The path is that of Sapwood's data."""
        return cast(
            "Callable[[ProgramSession, History, ProviderOptions, Path], SyncResult]",
            self._part("session_writer"),
        )

    @property
    def probe(self) -> Callable[[Path, str, str], dict[str, str]]:
        """Prepares a scratch home for a probe, with the address and the key of a model server.

        Returns the variables that the program needs there.
        """
        return cast("Callable[[Path, str, str], dict[str, str]]", self._part("probe"))

    def _part(self, part: Part) -> object:
        """The object that a module of the program's folder offers by its name in capitals."""
        if part not in self.parts:
            raise LookupError(f"{self.title} has no part '{part}'")
        return getattr(import_module(f"{self.package}.{part}"), part.upper())


def number_in(files: Iterable[Path], pattern: re.Pattern[bytes]) -> str:
    """The first group of the pattern in the first settings file that has it; empty if none has.

    A file of a project can come from anybody: only regular files are read, and not all of a huge
    one.
    """
    for file in files:
        with suppress(OSError):
            if found := pattern.search(_settings_text(file)):
                return found[1].decode()
    return ""


def _settings_text(file: Path) -> bytes:
    """The beginning of a regular file. Raises `OSError`."""
    # Opening a pipe would wait for somebody to write; Windows has none.
    handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(handle, "rb") as content:
        return content.read(_MAX_SETTINGS) if stat.S_ISREG(os.fstat(handle).st_mode) else b""


def user_home(environ: Mapping[str, str]) -> Path:
    """The user's home folder."""
    return Path(environ.get("HOME") or Path.home())
