"""The parser of submissions: what a person sends at once is a script of steps. Pure.

A line that starts with a command of the table is a command. Everything else is text and is kept as
it was typed. Fenced blocks, paths and commands behind a second slash are text.

A command with free text (the goal of a fork, a pin, a system prompt, mail) takes all lines after it
too if none of them is a command. If its line ends with `--`, it takes everything that follows,
commands or not.

In a face that runs shell commands of its person, `!` at the beginning of a submission makes all of
it one shell command, `!!` one whose output stays out of the context. A space before it makes it
text. A shell command below other lines is text: it may have been pasted unseen.
"""

import re
from collections.abc import Collection, Iterator
from typing import ClassVar

from msgspec import Struct, structs

from sapwood.core.command_table import TABLE, Scope, SlashCommand
from sapwood.core.commands import Configure, Fork
from sapwood.core.content import File, PromptPart, Text
from sapwood.core.refusals import BadArguments, Refusal, UnclearGoal, UnknownCommand, nearest
from sapwood.core.settings import field_of, is_guarded

_WORD = re.compile(r"/([A-Za-z][A-Za-z0-9_-]*)(?=\s|$)")
_CUSTOM_WORD = re.compile(r"/([A-Za-z0-9][A-Za-z0-9_.:-]*)(?=\s|$)")
_EVERYTHING = "--"
"""At the end of the line of a command with free text: everything that follows belongs to it."""

ELSEWHERE = {
    "plan": ("permissions plan",),
    "summarize": ("compact",),
}
"""Commands of other programs, and those that do the same here."""

PRIVATE = "--private"
"""The flag of a shell command whose output stays out of the context."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


class TextStep(Struct, frozen=True):
    """Text: a prompt, perhaps with files, or the goal of the fork that follows it."""

    text: str
    goal: bool = False
    files: tuple[File, ...] = ()
    confirm: ClassVar[str] = ""
    slow: ClassVar[bool] = False
    scope: ClassVar[Scope] = "write"

    @property
    def parts(self) -> tuple[PromptPart, ...]:
        """The prompt: its files, then its text."""
        return (
            self.files if self.files and not self.text.strip() else (*self.files, Text(self.text))
        )


class CommandStep(Struct, frozen=True):
    """A command with its arguments as they were typed."""

    command: SlashCommand
    args: str = ""

    @property
    def line(self) -> str:
        """The command as it was typed."""
        return f"{self.command.typed} {self.args}".rstrip()

    @property
    def confirm(self) -> str:
        """What a person is asked before the command runs; empty if nothing."""
        return self.command.confirm

    @property
    def slow(self) -> bool:
        """Whether the command may take long, so that a face must not wait for it."""
        return self.command.slow or self.command.uninterruptible

    @property
    def scope(self) -> Scope:
        """What a token for the server must allow. Another permission mode or budget needs more."""
        setting = field_of(self.args.split(maxsplit=1)[0]) if self.args.strip() else ""
        if Configure in self.command.decides and is_guarded(setting):
            return "approve"
        return self.command.scope


Step = TextStep | CommandStep
Script = tuple[Step, ...]


def parse(
    submission: str, *, shell: bool = False, custom: Collection[str] = ()
) -> Script | Refusal:
    """The steps of a submission, in order. With `shell`, one after `!` is a shell command.

    `custom` are names of custom commands: a submission that begins with one is all its own.

    >>> parse("/mark T")[0].command.name
    'mark'
    >>> [type(step).__name__ for step in parse("/mark T\\nFind the leak.\\n/fork T")]
    ['CommandStep', 'TextStep', 'CommandStep']
    >>> parse("!git status", shell=True)[0].line
    '/shell git status'
    >>> parse("/mrak T").close[0]
    'mark'
    """
    text = submission.strip("\r\n").rstrip()
    if shell and (command := _shell(text)) is not None:
        return command if isinstance(command, Refusal) else (command,)
    if custom and names_no_command(text) in custom:
        return (CommandStep(TABLE["use"], text.lstrip()[1:]),)
    if "\n" not in text:
        return _one_line(text)
    steps: list[Step] = []
    said: list[str] = []
    fence = ""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        fence = _fence_after(fence, line)
        run = None if fence else _command(line)
        if run is None or (number and is_shell(run)):
            escaped = not fence and line.startswith("//") and _command(line[1:]) is not None
            said.append(line[1:] if escaped else line)
            continue
        if (cut_off := _cut_off_goal(said, steps, run)) is not None:
            return cut_off
        _flush(said, steps)
        if _takes_all(run):
            steps.append(_with_lines(run, "\n".join(lines[number + 1 :])))
            return _with_goals(steps)
        steps.append(run)
    last = steps[-1] if steps else None
    if isinstance(last, CommandStep) and _takes_text(last) and said:
        steps[-1] = _with_lines(last, "\n".join(said))
    else:
        _flush(said, steps)
    return _with_goals(steps)


def scopes_to_send(queued: str) -> frozenset[Scope]:
    """What a token for the server must allow to queue this text, or to send it from the queue.

    A custom command that is there when the text is queued may be gone when it is sent, so what
    counts is what the text does without it. A text that cannot be parsed does nothing.

    >>> sorted(scopes_to_send("/mark A\\n/permissions all"))
    ['approve', 'write']
    """
    script = parse(queued)
    steps = () if isinstance(script, Refusal) else script
    return frozenset({"write", *(each.scope for each in steps)})


def names_no_command(submission: str) -> str:
    """The word after a slash at the beginning if it is no command of the table, else ''.

    >>> names_no_command("/fix a.py"), names_no_command("/mark T"), names_no_command("/etc/hosts")
    ('fix', '', '')
    """
    word = _CUSTOM_WORD.match(submission.lstrip())
    return word[1] if word and TABLE.get(word[1]) is None else ""


def chunks(script: Script) -> Iterator[Script]:
    """The pieces of a script that are carried out at once.

    Each piece is one step. A goal stands in one piece with each of its forks.

    >>> script = parse("/mark T\\nFind the leak.\\n/fork T\\n/agents\\n/fork T")
    >>> [len(chunk) for chunk in chunks(script)]
    [1, 2, 1, 2]
    """
    goal: TextStep | None = None
    for step in script:
        if isinstance(step, TextStep):
            goal = step if step.goal else None
        if step is not goal:
            forks = isinstance(step, CommandStep) and _forks(step)
            yield (goal, step) if goal and forks else (step,)


def has_prompt(script: Script) -> bool:
    """Whether the script opens a turn, which a model has to answer."""
    return any(is_prompt(step) for step in script)


def is_prompt(step: Step) -> bool:
    """Whether a step opens a turn: text that is no goal of a fork, or a command such as /retry."""
    return not step.goal if isinstance(step, TextStep) else step.command.prompts


def runs_shell(step: Step) -> bool:
    """Whether a step runs a shell command with the rights of the person."""
    return isinstance(step, CommandStep) and step.command is TABLE["shell"]


def is_shell(step: Step) -> bool:
    """Whether a step runs a shell command with the rights of the person, also as a check."""
    if not isinstance(step, CommandStep):
        return False
    has_check = step.command is TABLE["goal"] and "--check" in step.args
    return runs_shell(step) or has_check


def with_files(script: Script, files: tuple[File, ...]) -> Script | None:
    """The script with files in its first prompt; None if it has commands only."""
    if not script:
        return (TextStep("", files=files),)
    for number, step in enumerate(script):
        if isinstance(step, TextStep) and not step.goal:
            filled = structs.replace(step, files=(*step.files, *files))
            return (*script[:number], filled, *script[number + 1 :])
    return None


def _one_line(text: str) -> Script | Refusal:
    """A slash alone on its line is meant: it names a command, or somebody mistyped one."""
    line = text.strip()
    word = _WORD.match(line)
    if word is not None:
        run = _command(line)
        return (run,) if run else UnknownCommand(word[0], _meant(word[1]))
    if line.startswith("//") and _WORD.match(line[1:]):
        return (TextStep(line[1:]),)
    return (TextStep(text),) if line else ()


def _shell(text: str) -> CommandStep | BadArguments | None:
    """The shell command that a submission is; an image of Markdown, `![…`, is text."""
    if (mark := text.strip()) in ("!", "!!"):
        reason = "runs a shell command, and there is none after it"
        return BadArguments(f"{mark}COMMAND", f"{mark} {reason}.")
    if not text.startswith("!") or text.startswith("![") or not text.strip("! \t\r\n"):
        return None
    is_private = text.startswith("!!")
    line = text.removeprefix("!").removeprefix("!").strip()
    return CommandStep(TABLE["shell"], f"{PRIVATE} {line}" if is_private else line)


def _meant(word: str) -> tuple[str, ...]:
    """The commands that a mistyped word, or one of another program, may mean."""
    return ELSEWHERE.get(word) or nearest(word, TABLE.names, 0.6)


def _command(line: str) -> CommandStep | None:
    word = _WORD.match(line)
    command = TABLE.get(word[1]) if word else None
    return CommandStep(command, line[word.end() :].strip()) if word and command else None


def _takes_text(run: CommandStep) -> bool:
    """Whether the free text of this command has begun, so that text after it belongs to it."""
    free = run.command.free_text
    return free is not None and (not free.flag or free.flag in run.args.split())


def _takes_all(run: CommandStep) -> bool:
    """Whether the line ends with the sign that everything after it belongs to the command."""
    return run.command.free_text is not None and run.args.split()[-1:] == [_EVERYTHING]


def _with_lines(run: CommandStep, text: str) -> CommandStep:
    """The command with more lines of its free text."""
    free = run.command.free_text
    args = run.args
    if _takes_all(run):
        before = args.removesuffix(_EVERYTHING).rstrip()
        begun = free is None or not free.flag or free.flag in before.split()
        args = before if begun else args
    text = text.rstrip()
    if args in ("", _EVERYTHING):  # no text has begun, so the blank lines are not between two lines
        text = text.lstrip("\r\n")
    return CommandStep(run.command, f"{args}\n{text}".strip() if text.strip() else args)


def _cut_off_goal(said: list[str], steps: list[Step], later: CommandStep) -> Refusal | None:
    """The refusal of a goal whose second line is followed by a command.

    Whether that command is meant for this agent or is a part of the goal cannot be told.
    """
    last = steps[-1] if steps else None
    if not isinstance(last, CommandStep) or not any(line.strip() for line in said):
        return None
    if not _forks(last) or not _takes_text(last):
        return None
    return UnclearGoal(last.line, later.command.typed)


def _fence_after(fence: str, line: str) -> str:
    """The fence that is open after this line; a closing fence still counts as inside."""
    found = _FENCE.match(line)
    if found is None:
        return fence if fence != "closed" else ""
    if not fence or fence == "closed":
        within = found[1][0] == "`" and "`" in line[found.end() :]
        return "" if within else found[1]
    closes = found[1].startswith(fence) and not line.strip().strip(fence[0])
    return "closed" if closes else fence


def _flush(said: list[str], steps: list[Step]) -> None:
    text = "\n".join(said).strip("\r\n")
    said.clear()
    if text.strip():
        steps.append(TextStep(text))


def _with_goals(steps: list[Step]) -> Script:
    """Text followed by a fork, before any other text, is that child's goal."""
    done: list[Step] = []
    forks = False
    for step in reversed(steps):
        if isinstance(step, CommandStep):
            forks = forks or _forks(step)
            done.append(step)
        else:
            done.append(TextStep(step.text, goal=forks))
            forks = False
    return tuple(reversed(done))


def _forks(run: CommandStep) -> bool:
    return Fork in run.command.decides
