"""Refusals of typed commands: an unknown command or place, wrong arguments, not for models.

Refusals of values: settings, a model with a small window, texts that are empty or too long.
"""

from sapwood.core.refusals.refusal import Refusal, cut, did_you_mean
from sapwood.core.token_count import Count, show


class HumanOnly(Refusal, frozen=True):
    """The command table does not allow this command to models."""

    command: str
    says = "Models may not use {command}. Ask the user to run it."


class SystemOnly(Refusal, frozen=True):
    """Sapwood itself gives this command, after it has spoken to another program."""

    command: str
    says = (
        "{command} is reserved for Sapwood itself, for its use of another program's "
        "session. Send a prompt or a context command such as /clear instead."
    )


class UnknownCommand(Refusal, frozen=True):
    """No command has this name."""

    word: str
    close: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        return (
            f"There is no command {cut(self.word)}.{did_you_mean(self.close, '/')} Type /help for "
            "a list; to send the text as it is, start it with //."
        )

    @property
    def for_model(self) -> str:
        return (
            f"There is no command {cut(self.word)}.{did_you_mean(self.close)} "
            "The description of this tool lists the commands."
        )


class UnclearGoal(Refusal, frozen=True):
    """A goal has several lines, and a later line is a command: whose it is cannot be told."""

    line: str
    command: str

    @property
    def sentence(self) -> str:
        return (
            f"A line below '{cut(self.line)}' is the command {self.command}, so it is unclear "
            "where the goal ends. Nothing was done. Put -- at the end of that line to make "
            "everything below it part of the goal, or send the command separately."
        )


class BadArguments(Refusal, frozen=True):
    """The arguments of a command are wrong.

    >>> BadArguments("/undo", "/undo takes no arguments.").sentence
    '/undo takes no arguments. Usage: /undo.'
    """

    usage: str
    reason: str

    @property
    def sentence(self) -> str:
        return f"{self.reason} Usage: {self.usage}{'' if self.usage.endswith('…') else '.'}"


class CommandIdUsed(Refusal, frozen=True):
    """Another command was carried out under this id: on another agent, or with other content.

    `agent` and `used_for` are those of the first use: an event in its log, or a route. Both are
    empty if the log was erased.
    """

    agent: str = ""
    used_for: str = ""

    @property
    def sentence(self) -> str:
        first = f"for {self.used_for}" if self.used_for else "for something that was erased"
        whose = f" of '{self.agent}'" if self.agent else ""
        return (
            f"This command id was already used, {first}{whose}. Nothing was changed. Give each "
            "command its own id."
        )


class NoConversation(Refusal, frozen=True):
    """The command needs a conversation, and there is none yet."""

    says = "There is no conversation yet. Send a message to start one."


class ModelNeeded(Refusal, frozen=True):
    """The command needs a model call, and this program cannot call one."""

    command: str
    agent: str
    says = "{command} needs a model, and no model can be called here. Run it in the terminal UI."


class CheckNotHere(Refusal, frozen=True):
    """A check runs only where the person typed it: others may have written it to the log."""

    check: str

    @property
    def sentence(self) -> str:
        return (
            f"The check was not typed on this machine, so it does not run: {self.check[:200]}. If "
            "you want it, set the goal again with /goal TEXT --check COMMAND."
        )


class GoalNotHere(Refusal, frozen=True):
    """Whoever asks is not the person at the machine, or the program ends before the goal does."""

    says = (
        "A goal works with the rights of the person at the machine, so only they can set one. "
        "Type it in the terminal UI, or in a browser signed in there with the scope admin."
    )


class ShellNotHere(Refusal, frozen=True):
    """Whoever asks is not the person at the machine on which the command would run."""

    says = (
        "Nothing was run. A shell command has the rights of the person at the machine, so only "
        "they can run one. Type it in the terminal UI, or in a browser signed in there with "
        "the scope admin, or ask the model to run it."
    )


class NothingToAccept(Refusal, frozen=True):
    """The agent is not in plan mode, or its last turn has no answer."""

    says = (
        "There is no plan to accept. Type /permissions plan, then ask for what you want; the "
        "answer is the plan."
    )


class NoSuchCall(Refusal, frozen=True):
    """The log has no model call at this version."""

    agent: str
    version: int
    says = "Version {version} of {agent} is not a model call. Type /replay to see the last one."


class NoPassage(Refusal, frozen=True):
    """There is no text at this place of the log."""

    place: str
    first: int = 0

    @property
    def sentence(self) -> str:
        where = f" from character {self.first:,} on" if self.first else ""
        return (
            f"There is no message at {cut(self.place)}{where}. To search for it, type /recall "
            "WORDS."
        )


class BadSetting(Refusal, frozen=True):
    """A setting cannot have this value."""

    name: str
    rule: str
    says = "Setting '{name}' must be {rule}. Nothing was changed."


class ReservedName(Refusal, frozen=True):
    """A label, or an entry of the metadata, has a name that only Sapwood itself uses."""

    name: str
    says = (
        "The name '{name}' belongs to Sapwood. Nothing was changed. Choose a label or a name of "
        "the metadata that does not begin with 'sapwood.'."
    )


class BadValue(Refusal, frozen=True):
    """A value has a type or a size that cannot be stored.

    >>> BadValue("parts[0].text", "text", "list").sentence
    "'parts[0].text' must be text, and not list. Nothing was changed."
    """

    place: str
    rule: str
    given: str

    @property
    def sentence(self) -> str:
        what = f"'{self.place}'" if self.place else "The value"
        return f"{what} must be {self.rule}, and not {self.given}. Nothing was changed."


class ModelTooSmall(Refusal, frozen=True):
    """The context is larger than the model's window.

    `blocks` are its parts with their sizes. `keeps` is how many of the last turns would fit beside
    system prompt, tools and pins; None if these alone do not fit.
    """

    model: str
    window: int
    blocks: tuple[tuple[str, Count], ...]
    keeps: int | None = 0

    @property
    def sentence(self) -> str:
        total = show(sum((size for _, size in self.blocks), Count(0, exact=True)))
        parts = ", ".join(f"{name} {show(size)}" for name, size in self.blocks if size.tokens)
        return (
            f"There are {total} tokens in view ({parts}), but {self.model} can take only "
            f"{show(Count(self.window, exact=True))}, including its answer. Nothing was changed. "
            f"{self._remedy}"
        )

    @property
    def _remedy(self) -> str:
        """What to type, the smallest change first."""
        if self.keeps is None:
            return (
                "The system prompt, tools and pins alone are too large: shorten the prompt with "
                "/system, or remove pins with /unpin."
            )
        fewer = f"/clear {self.keeps} to keep the last {self.keeps} turns"
        kept = fewer if self.keeps else "/clear to start with an empty context"
        return f"Type /compact for a summary, or {kept}; then /model {self.model} again."


class EmptyText(Refusal, frozen=True):
    """A text is blank that must not be."""

    what: str
    says = "The {what} is empty. Enter some text and try again."


class TooLong(Refusal, frozen=True):
    """A text is longer than allowed."""

    what: str
    limit: int
    says = (
        "The {what} is longer than {limit:,} characters. Shorten it, or put it in a "
        "file and refer to the file."
    )
