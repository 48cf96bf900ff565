"""Why a command changed nothing, and what to do instead. Typed values, one class a reason."""

from msgspec import Struct

from sapwood.core.counting import Count, show

__all__ = [
    "AgentExists",
    "AmbiguousAgent",
    "AskedAgain",
    "BadArguments",
    "BadId",
    "BadMarkName",
    "BadSetting",
    "CallStarted",
    "CallsOpen",
    "DuplicateCall",
    "EmptyText",
    "HumanOnly",
    "Imported",
    "MailboxFull",
    "ModelTooSmall",
    "NoGoal",
    "NoMarks",
    "NoTurnOpen",
    "NotDescendant",
    "NotImported",
    "NotRunning",
    "NothingToRedo",
    "NothingToUndo",
    "Refusal",
    "RootNeedsHuman",
    "StaleRequest",
    "SummaryOutdated",
    "TooLong",
    "TooManyPins",
    "TooManyTopics",
    "TurnEnded",
    "TurnIsOpen",
    "UnknownAgent",
    "UnknownCall",
    "UnknownCommand",
    "UnknownMark",
    "UnknownPin",
    "nearest",
]


_SHOWN = 60


def nearest(word: str, names: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """Up to three names that somebody who typed `word` may have meant, best first."""
    by_fold = {name.casefold(): name for name in reversed(names)}
    from difflib import get_close_matches

    found = get_close_matches(word.casefold(), list(by_fold), n=3, cutoff=0.5)
    return tuple(by_fold[name] for name in found)


def _did_you_mean(names: tuple[str, ...], prefix: str = "") -> str:
    if not names:
        return ""
    return f" Did you mean {' or '.join(prefix + name for name in names)}?"


def _cut(word: str) -> str:
    """What was typed, unless somebody pasted a page."""
    return word if len(word) <= _SHOWN else f"{word[:_SHOWN]}…"


def _quoted(word: str) -> str:
    return f"'{_cut(word)}'"


class Refusal(Struct, frozen=True):
    """A reason, which `sentence` tells together with what to do instead."""

    @property
    def sentence(self) -> str:
        """What a person reads."""
        raise NotImplementedError


class UnknownAgent(Refusal, frozen=True):
    """No agent has this id."""

    agent: str

    @property
    def sentence(self) -> str:
        return f"There is no agent {_quoted(self.agent)}. /agents lists them."


class AmbiguousAgent(Refusal, frozen=True):
    """Several agents could be meant."""

    name: str
    agents: tuple[str, ...]

    @property
    def sentence(self) -> str:
        agents = ", ".join(self.agents)
        return f"{_quoted(self.name)} could be {agents}. Type more of the id."


class AgentExists(Refusal, frozen=True):
    """The id of a new agent is taken."""

    agent: str

    @property
    def sentence(self) -> str:
        return f"An agent '{self.agent}' exists already. Resume it, or choose another id."


class NotRunning(Refusal, frozen=True):
    """The agent is archived or killed."""

    agent: str
    status: str

    @property
    def sentence(self) -> str:
        return f"Agent '{self.agent}' is {self.status}. Its log can be read; fork it to go on."


class Imported(Refusal, frozen=True):
    """The conversation goes on where it ran, and not here."""

    agent: str
    source: str

    @property
    def sentence(self) -> str:
        return (
            f"Agent '{self.agent}' was imported from {self.source}, which alone goes on with it. "
            f"Go on with a fork of it: /fork, or sapwood fork {self.agent}."
        )


class NotImported(Refusal, frozen=True):
    """Only where a conversation is a copy can it be moved as the original was."""

    agent: str

    @property
    def sentence(self) -> str:
        return f"Agent '{self.agent}' was not imported. Use /rewind MARK instead."


class TurnIsOpen(Refusal, frozen=True):
    """The command waits for the end of the turn."""

    command: str

    @property
    def sentence(self) -> str:
        return (
            f"{self.command} would pull the context from under the running turn. "
            "Wait for it to end, or press esc to interrupt it."
        )


class NoTurnOpen(Refusal, frozen=True):
    """The command belongs into a turn."""

    @property
    def sentence(self) -> str:
        return "No turn is open. Start one with a prompt first."


class TurnEnded(Refusal, frozen=True):
    """The turn that was meant is over; if one is open, it is another."""

    @property
    def sentence(self) -> str:
        return "The turn that this belongs to has ended. Nothing was changed; look again first."


class AskedAgain(Refusal, frozen=True):
    """The model call that this is about was given up: another one took its place."""

    @property
    def sentence(self) -> str:
        return (
            "The model was asked again since, and only its last answer counts. Nothing was changed."
        )


class CallsOpen(Refusal, frozen=True):
    """A turn cannot complete while tool calls have no result."""

    calls: tuple[str, ...]

    @property
    def sentence(self) -> str:
        calls = ", ".join(self.calls)
        return f"Tool calls without a result: {calls}. Finish them, or interrupt the turn."


class UnknownCall(Refusal, frozen=True):
    """No open tool call has this id."""

    call: str

    @property
    def sentence(self) -> str:
        call = _quoted(self.call)
        return f"No open tool call has the id {call}. Only calls of the last reply can end."


class CallStarted(Refusal, frozen=True):
    """The tool call may have had effects already."""

    call: str

    @property
    def sentence(self) -> str:
        call = _quoted(self.call)
        return f"Tool call {call} has started already. Record its result, or interrupt the turn."


class StaleRequest(Refusal, frozen=True):
    """What is about to be sent is not what the log says."""

    @property
    def sentence(self) -> str:
        return "Something was recorded since this request was built. Build it again and call then."


class DuplicateCall(Refusal, frozen=True):
    """Two tool calls of one turn have the same id."""

    call: str

    @property
    def sentence(self) -> str:
        call = _quoted(self.call)
        return f"The turn has a tool call {call} already. Give each call an id of its own."


class BadMarkName(Refusal, frozen=True):
    """Marks have names that can be typed and told from numbers."""

    name: str

    @property
    def sentence(self) -> str:
        return (
            f"{_quoted(self.name)} is no name for a mark. Use up to 64 letters, digits, '_', '.' "
            "or '-', starting with a letter or '_'."
        )


class UnknownMark(Refusal, frozen=True):
    """No live mark has this name."""

    name: str
    close: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        instead = _did_you_mean(self.close) or " /mark NAME sets one."
        return f"There is no mark {_quoted(self.name)}.{instead} Nothing was changed."


class NoMarks(Refusal, frozen=True):
    """There is nothing to rewind to."""

    @property
    def sentence(self) -> str:
        return "There is no mark to rewind to. Set one with /mark NAME."


class NothingToUndo(Refusal, frozen=True):
    """No context command is left to take back."""

    @property
    def sentence(self) -> str:
        return "There is no context command to undo: /undo takes back /clear, /rewind, /compact."


class NothingToRedo(Refusal, frozen=True):
    """No undo is left to take back."""

    @property
    def sentence(self) -> str:
        return "There is nothing to redo: /redo works after /undo, until the next context command."


class SummaryOutdated(Refusal, frozen=True):
    """Turns were added while the summary was written."""

    @property
    def sentence(self) -> str:
        return "The conversation went on while it was summarised. Nothing was trimmed; try again."


class NoGoal(Refusal, frozen=True):
    """A fork from a place in the open turn delegates what was written after it."""

    mark: str

    @property
    def sentence(self) -> str:
        return f"Nothing was written after '{self.mark}'. Write the goal there, or add -- GOAL."


class EmptyText(Refusal, frozen=True):
    """Something was left blank that cannot be."""

    what: str

    @property
    def sentence(self) -> str:
        return f"The {self.what} is empty. Write something and send it again."


class BadId(Refusal, frozen=True):
    """A store could not hold this id."""

    id: str

    @property
    def sentence(self) -> str:
        shown = _cut(ascii(self.id))
        return f"{shown} cannot be an id. Give one without null characters and lone surrogates."


class MailboxFull(Refusal, frozen=True):
    """The agent has to read its mail first."""

    agent: str
    limit: int

    @property
    def sentence(self) -> str:
        return (
            f"Agent '{self.agent}' has {self.limit} letters and notes waiting, and takes no more "
            "before it was prompted or has read them. Nothing was sent. Wait, or try again later."
        )


class TooManyPins(Refusal, frozen=True):
    """An agent holds as many pins as it can."""

    limit: int

    @property
    def sentence(self) -> str:
        return f"There are {self.limit} pins already, which is the most. /unpin NAME takes one out."


class TooManyTopics(Refusal, frozen=True):
    """As many topics are in focus as can be."""

    limit: int

    @property
    def sentence(self) -> str:
        return (
            f"There are {self.limit} topics in focus already, which is the most. "
            "Send one to the background and try again."
        )


class TooLong(Refusal, frozen=True):
    """A text is longer than its place allows."""

    what: str
    limit: int

    @property
    def sentence(self) -> str:
        return (
            f"The {self.what} is longer than {self.limit:,} characters. "
            "Put it into a file and name the file instead."
        )


class BadSetting(Refusal, frozen=True):
    """A setting has no such value."""

    name: str
    rule: str

    @property
    def sentence(self) -> str:
        return f"Setting '{self.name}' must be {self.rule}. Nothing was changed."


class ModelTooSmall(Refusal, frozen=True):
    """More is in view than the model takes.

    `blocks` say what of, the largest concern first. `keeps` is how many of the last turns would
    fit beside what always stands; None if that alone does not.
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
            f"There are {total} tokens in view ({parts}), more than {self.model} takes: "
            f"{show(Count(self.window, exact=True))}, its answer included. Nothing was changed. "
            f"{self._way_out}"
        )

    @property
    def _way_out(self) -> str:
        """What can be done first, the mildest way first."""
        if self.keeps is None:
            return (
                "System prompt, tools and pins alone do not fit: shorten /system, or /unpin what "
                "can go."
            )
        fewer = f"/clear {self.keeps} to keep the last {self.keeps} turns"
        kept = fewer if self.keeps else "/clear to start afresh"
        return f"Type /compact for a summary, or {kept}; then /model {self.model} again."


class UnknownPin(Refusal, frozen=True):
    """No pin has this name."""

    name: str
    close: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        return (
            f"There is no pin {_quoted(self.name)}.{_did_you_mean(self.close)} "
            "/context lists the pins."
        )


class NotDescendant(Refusal, frozen=True):
    """A model acts on its own descendants only."""

    agent: str

    @property
    def sentence(self) -> str:
        return f"Agent '{self.agent}' is not a descendant of yours. Send it mail instead."


class RootNeedsHuman(Refusal, frozen=True):
    """Only a person ends a root."""

    agent: str

    @property
    def sentence(self) -> str:
        return f"Agent '{self.agent}' is a root. Only a person may kill it: ask the user."


class HumanOnly(Refusal, frozen=True):
    """The registry does not give this command to models."""

    command: str

    @property
    def sentence(self) -> str:
        return f"{self.command} is for people. Ask the user to run it."


class UnknownCommand(Refusal, frozen=True):
    """No command has this name."""

    word: str
    close: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        return (
            f"There is no command {_cut(self.word)}.{_did_you_mean(self.close, '/')} "
            f"/help lists them; start with // to send the text as it is."
        )


class BadArguments(Refusal, frozen=True):
    """The words after a command do not fit it."""

    usage: str
    reason: str

    @property
    def sentence(self) -> str:
        return f"{self.reason} Type it as {self.usage}."
