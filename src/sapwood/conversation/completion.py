"""What can be completed where the cursor is: commands of the table, then their arguments."""

import asyncio
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from sapwood.conversation.agent_lookup import find
from sapwood.conversation.call import OpenSpace
from sapwood.conversation.configured_models import KNOWN_MODELS
from sapwood.conversation.script import ELSEWHERE
from sapwood.core.command_table import TABLE, Argument, ArgumentKind, SlashCommand
from sapwood.core.event_texts import event_texts
from sapwood.core.events import RevertStarted
from sapwood.core.log_values import AgentSummary
from sapwood.core.settings import SettingsChange, typed_name
from sapwood.core.state import State
from sapwood.models.model_routes import PROVIDERS
from sapwood.turns.checkpoints import chain_of
from sapwood.turns.revert import revert_name
from sapwood.turns.turn_lookup import number_at
from sapwood.workspace.custom_commands import CustomCommand

MODELS = KNOWN_MODELS

_AGENTS = 200
_TURNS = 8
_ABOUT = 60
_RULE_WORDS = (
    ("allow", "Add a rule that allows a tool"),
    ("deny", "Add a rule that denies a tool"),
    ("remove", "Remove a rule from this project"),
)
_VERDICTS = ("allow", "ask", "deny")
_OFTEN_USED = (
    "clear undo context mark rewind edit compact fork recall load "
    "model agents switch new send check-mail answer"
).split()
"""The commands that a bare `/` lists first."""

Names = tuple[tuple[str, str], ...]
"""Words that an argument can be, each with a few words on it."""


class Choice(Struct, frozen=True):
    """One completion: the word, and what a list shows beside it."""

    word: str
    usage: str = ""
    help: str = ""


class KnownNames(Struct, frozen=True):
    """The names that exist now, by kind. `conversations` are those that no longer run."""

    marks: Names = ()
    agents: Names = ()
    conversations: Names = ()
    models: Names = ()
    pins: Names = ()
    turns: Names = ()
    rules: Names = ()
    custom: tuple[Choice, ...] = ()

    def of_kind(self, kind: ArgumentKind) -> Names:
        """The names that an argument of this kind can be."""
        match kind:
            case "mark":
                return self.marks
            case "agent":
                return self.agents
            case "model":
                return self.models
            case "pin":
                return self.pins
            case "turn":
                return self.turns
            case "setting":
                return tuple((typed_name(name), "") for name in SettingsChange.__struct_fields__)
            case "permission":
                return _permission_words()
            case "rule":
                return self.rules
            case "custom":
                return tuple((each.word.removeprefix("/"), each.help) for each in self.custom)
            case "command":
                return tuple((row.name, row.help) for row in TABLE.rows)
            case "call" | "name" | "number" | "text":
                return ()


def choices(line: str, known: KnownNames) -> list[Choice]:
    """What may follow, best first; nothing where somebody just writes.

    >>> [choice.word for choice in choices("/mar", KnownNames())]
    ['/mark']
    >>> [choice.word for choice in choices("/rewind S", KnownNames(marks=(("START", ""),)))]
    ['START']
    """
    if not line.startswith("/") or line.startswith("//"):
        return []
    name, space, rest = line[1:].partition(" ")
    if not space:
        return _commands(name, known.custom)
    row = TABLE.get(name)
    return _arguments(row, rest.split(" "), known) if row else []


def is_complete(line: str, known: KnownNames) -> bool:
    """Whether the last word is valid as it stands, so that no completion may replace it.

    >>> is_complete("/clear 3", KnownNames(marks=(("PHASE_3", ""),)))
    True
    >>> is_complete("/rewind PH", KnownNames(marks=(("PHASE_3", ""),)))
    False
    """
    name, space, rest = line[1:].partition(" ")
    row = TABLE.get(name)
    if not space or row is None:
        return (
            row is not None or name in ELSEWHERE or any(each.word == line for each in known.custom)
        )
    words = rest.split(" ")
    argument = _argument_at(row, len(words) - 1)
    return argument is None or any(_is_valid(words[-1], kind, known) for kind in argument.kinds)


def _is_valid(word: str, kind: ArgumentKind, known: KnownNames) -> bool:
    match kind:
        case "number" | "turn":
            return word.isascii() and word.isdigit()
        case "call" | "name" | "rule" | "text":
            return True
        case "agent":
            return word == "parent" or _names_one_agent(word, known.agents)
        case _:
            return any(word == name for name, _ in known.of_kind(kind))


def _names_one_agent(word: str, agents: Names) -> bool:
    """Whether a word is a name, an id, or the start of just one id and of no name."""
    if any(word in names for names in agents):
        return True
    return sum(any(name.startswith(word) for name in names) for names in agents) == 1 and not any(
        name.casefold().startswith(word.casefold()) for name, about in agents if about
    )


async def known_names(
    space: OpenSpace, state: State | None, custom: Sequence[CustomCommand] = ()
) -> KnownNames:
    """The names that exist now in a space and in the conversation with this state."""
    agents, conversations = _agents(await space.log.agents(space.space, limit=_AGENTS))
    return KnownNames(
        marks=_marks(state) if state else (),
        agents=agents,
        conversations=conversations,
        models=model_names(),
        turns=await _turns(space, state) if state else (),
        rules=await _rules(state) if state else (),
        custom=tuple(_custom(each) for each in custom if each.for_people),
        pins=tuple((pin.name, _one_line(pin.text)) for pin in state.pins) if state else (),
    )


async def completions_of_kind(space: OpenSpace, kind: ArgumentKind, agent: str = "") -> Names:
    """What a shell offers for an argument of this kind; `agent` was typed before it.

    An agent is offered by its name, if that is one word, and by its id.
    """
    if kind == "agent":
        agents = await space.log.agents(space.space, limit=_AGENTS)
        named = [(each.name, each.agent) for each in agents if len(each.name.split()) == 1]
        return (*named, *((each.agent, each.name) for each in agents))
    state = (await space.dispatcher.open(await find(space, agent))).state if agent else None
    return (await known_names(space, state)).of_kind(kind)


def model_names() -> Names:
    """Models that are often wanted, then the prefixes of providers."""
    prefixes = ((f"{name}:", each.title) for name, each in PROVIDERS.items())
    return (*((name, "") for name in MODELS), *prefixes)


def _commands(typed: str, custom: tuple[Choice, ...]) -> list[Choice]:
    if not typed:
        rows = dict.fromkeys((*(TABLE[name] for name in _OFTEN_USED), *TABLE.rows))
        return [*(Choice(row.typed, row.usage, row.help) for row in rows), *custom]
    starting = [row for row in TABLE.rows if any(name.startswith(typed) for name in row.names)]
    starting.sort(key=lambda row: typed not in row.names)
    inside = [row for row in TABLE.rows if typed in row.name and row not in starting]
    own = [Choice(row.typed, row.usage, row.help) for row in (*starting, *inside)]
    return [*own, *(each for each in custom if typed.casefold() in each.word.casefold())]


def _arguments(row: SlashCommand, words: Sequence[str], known: KnownNames) -> list[Choice]:
    argument = _argument_at(row, len(words) - 1)
    if argument is None:
        return []
    typed = words[-1].casefold()
    names = [name for kind in argument.kinds for name in known.of_kind(kind)]
    if "rule" in argument.kinds and words[0] != "remove":  # a new rule starts with its tool
        names = _tools() if words[0] in _VERDICTS else []
    starting = [name for name in names if name[0].casefold().startswith(typed)]
    if "agent" in argument.kinds:  # one that is offered by its id is found by its name too
        named = (name for name in names if name[1].casefold().startswith(typed))
        starting = list(dict.fromkeys((*starting, *named)))
    starting.sort(key=lambda name: name[0] != words[-1])
    inside = [name for name in names if typed in name[0].casefold() and name not in starting]
    found = [Choice(name, "", about) for name, about in (*starting, *inside)]
    return [] if [each.word for each in found] == [words[-1]] else found


def _argument_at(row: SlashCommand, index: int) -> Argument | None:
    """The argument that the word at this place is; those behind a flag have no fixed place."""
    placed = [argument for argument in row.arguments if not argument.flag]
    for place, argument in enumerate(placed):
        if place == index or (argument.repeats and place < index):
            return argument
    return None


def _permission_words() -> Names:
    """What can follow `/permissions`: the modes, and what can be done with a rule."""
    from sapwood.workspace.permissions.permission_rules import MODES

    return (*MODES.items(), *_RULE_WORDS)


def _tools() -> list[tuple[str, str]]:
    from sapwood.workspace.permissions.permission_rules import TOOLS

    return [(f"{tool}(", "") for tool in TOOLS]


async def _rules(state: State) -> Names:
    """The rules that are kept for the project of an agent; none if they cannot be read."""
    from sapwood.workspace.permissions.kept_rules import KeptRules, project_folder
    from sapwood.workspace.tool_output import ToolError

    folder = project_folder(state.workspace)
    try:
        kept = await asyncio.to_thread(KeptRules().rules, folder) if folder else ()
    except ToolError:
        return ()
    return tuple((str(rule), "") for rule in kept)


def _marks(state: State) -> Names:
    named = [mark for mark in reversed(state.marks) if mark.name]
    return tuple((mark.name, "") for mark in named)


def _agents(summaries: Sequence[AgentSummary]) -> tuple[Names, Names]:
    """The agents that run, and the conversations that no longer run.

    An agent is offered by its name where the name leads to it, and otherwise by its id. A name that
    several agents have leads to the one that runs, and to none if several do.
    """
    named = Counter(each.name for each in summaries)
    running = Counter(each.name for each in summaries if each.status == "running")
    agents: list[tuple[str, str]] = []
    conversations: list[tuple[str, str]] = []
    for each in summaries:
        if each.status == "running":
            agents.append(_agent(each, is_found_by_name=running[each.name] == 1))
        else:
            conversations.append(_agent(each, is_found_by_name=named[each.name] == 1))
    return tuple(agents), tuple(conversations)


def _agent(summary: AgentSummary, *, is_found_by_name: bool) -> tuple[str, str]:
    name = _one_line(summary.name)
    if is_found_by_name and name and " " not in name:
        return name, summary.agent
    return summary.agent, name


async def _turns(space: OpenSpace, state: State) -> Names:
    """The places that files can be reverted to, newest first, and a few words on each."""
    found: list[tuple[str, str]] = []
    reverts = 0
    for link in await chain_of(space.log, space.space, state, _TURNS):
        if link.changed_in and link.files:
            [started] = await space.log.read(
                space.space, state.agent, link.changed_in, link.changed_in
            )
            number = await number_at(space.log, space.space, started.ref)
            found.append((str(number), _one_line(event_texts(started.event).search)))
        elif isinstance(link.event, RevertStarted):
            reverts += 1
            found.append((revert_name(reverts), "before a revert"))
    return tuple(found)


def _custom(command: CustomCommand) -> Choice:
    about = f"{_one_line(command.about)}  ({command.kind}, {command.path})"
    return Choice(f"/{command.name}", command.hint, about)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:_ABOUT]
