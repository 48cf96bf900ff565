"""Offers to bring turns back: a prompt or a tool call names what only turns out of view have.

A name is a file, an identifier, an error, a ticket or a text in quotes, and never a plain word: a
person who types one means that very thing. Turns that a rewind left on a side branch are not
offered.

The tool calls are those of the last turn, and the offer comes with the next prompt. A name that
many turns have is that of something the agent works on all the time, and is not offered; nor is one
that only tools used.

With a token budget, a turn that fits is brought back before the prompt is sent. The log has it like
a `/bring`, with Sapwood as the actor. It leaves again before the first prompt that does not name
what it was brought for, if the turn before did not use it either.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec import Struct, structs

from sapwood.conversation.agent_lookup import place_of
from sapwood.conversation.answers import LoadOffer
from sapwood.conversation.call import OpenSpace
from sapwood.conversation.cut_preview import input_price
from sapwood.core.budget import budget_of
from sapwood.core.command_table import TABLE
from sapwood.core.commands import Load, Undo
from sapwood.core.content import PromptPart, ReplyPart, Text, ToolCall
from sapwood.core.context import Context
from sapwood.core.events import SYSTEM, ContextLoaded
from sapwood.core.history_size import calibrated
from sapwood.core.ids import EventRef
from sapwood.core.live_path import LivePath
from sapwood.core.refusals import Refusal
from sapwood.core.search_terms import parts_of
from sapwood.core.state import State
from sapwood.core.turn import Reply, Turn, quoted_turn
from sapwood.core.turn_numbers import TURN_STARTS
from sapwood.core.view.build import front_texts
from sapwood.turns.clock_and_ids import command_meta
from sapwood.turns.open_agent import OpenAgent, read_live
from sapwood.turns.turn_lookup import whole_turn

_MAX_NAMES, _MAX_NAME = 6, 200
_MAX_PROMPT = 20_000
"""Characters of a prompt that are looked at. A longer one has its own text with it."""
_HITS = 20
_MAX_TURNS_OF_CALL = 3
"""A name in a tool call that more turns have is not offered."""

_QUOTED = re.compile(r"`([^`\n]{3,200})`|\"([^\"\n]{3,200})\"|“([^”\n]{3,200})”")
_TOKEN = re.compile(r"[^\s\"'`“”„(),;<>\[\]{}|=!?*\u3001\u3002\uff0c\uff1a\uff08\uff09]+")
_FILE = re.compile(r"[\w./\\~@+-]*\w[\w-]\.[A-Za-z][A-Za-z0-9]{0,5}(?::\d+)?")
_PATH = re.compile(r"(?:~|\.{1,2})?/?[\w.@+-]+(?:/[\w.@+-]+){2,}/?")
_TICKET = re.compile(r"[A-Z]{2,}-\d+|[A-Z]{1,4}\d{3,}|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_HASH = re.compile(r"(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,40}")
_ERROR = re.compile(r"\w+(?:Error|Exception|Warning|Failure|Fault|Killed|Detected)|E[A-Z]{4,}")
_WORD_OF_NAME = re.compile(r"[^\W_]+")
_MIN_QUOTED_WORDS = 2


def names_of_prompt(prompt: Iterable[PromptPart]) -> tuple[str, ...]:
    """The files, identifiers, errors, tickets and quotes that a prompt names, in its order.

    >>> names_of_prompt((Text("Why does parseConfig in src/app.py fail with E0433 again?"),))
    ('parseConfig', 'src/app.py', 'E0433')
    """
    text = "\n".join(part.text for part in prompt if isinstance(part, Text))[:_MAX_PROMPT]
    found = sorted((*_quotes(text), *_tokens(text)))
    return tuple(dict.fromkeys(name for _, name in found))[:_MAX_NAMES]


def names_of_calls(turn: Turn) -> tuple[str, ...]:
    """The files, identifiers, errors and tickets in the arguments of a turn's tool calls.

    A file has the last two parts of its path: tools are given the whole, people type less.
    """
    calls = [
        part
        for item in turn.items
        if isinstance(item, Reply)
        for part in item.parts
        if isinstance(part, ToolCall)
    ]
    found = (name for call in calls for _, name in _tokens(_texts_in(call.args)[:_MAX_PROMPT]))
    short = ("/".join(name.split("/")[-2:]) for name in found)
    return tuple(dict.fromkeys(short))[:_MAX_NAMES]


def _texts_in(args: str) -> str:
    """The values of the arguments that have one line: a longer one is the content of a file."""
    try:
        values = msgspec.json.decode(args, type=dict[str, object]).values()
    except msgspec.MsgspecError:
        return ""
    return "\n".join(value for value in values if isinstance(value, str) and "\n" not in value)


def _quotes(text: str) -> Iterator[tuple[int, str]]:
    for quoted in _QUOTED.finditer(text):
        words = quoted[1] or quoted[2] or quoted[3]
        if quoted[1] or len(_WORD_OF_NAME.findall(words)) >= _MIN_QUOTED_WORDS:
            yield quoted.start(), words.strip()


def _tokens(text: str) -> Iterator[tuple[int, str]]:
    for token in _TOKEN.finditer(text):
        name = token[0].strip(".:/-_…").removesuffix("()")
        if len(name) <= _MAX_NAME and "://" not in name and _is_name(name):
            yield token.start(), name


def _is_name(token: str) -> bool:
    forms = (_FILE, _PATH, _TICKET, _HASH, _ERROR)
    if any(form.fullmatch(token) for form in forms):
        return True
    words = _WORD_OF_NAME.findall(token)
    if "_" in token and len(words) > 1:
        return True
    # `parseConfig` and `TokenRefreshJob` are identifiers. `GitHub` may be a brand.
    return len(words) == 1 and (
        (token[:1].islower() and len(parts_of(token)) > 1) or len(parts_of(token)) > 2
    )


async def load_offer(
    space: OpenSpace, opened: OpenAgent, prompt: Iterable[PromptPart]
) -> LoadOffer | None:
    """The offer for a prompt that is sent to an agent in this state; None if there is none."""
    found = await _find(space, opened, names_of_prompt(prompt))
    return None if found is None else await _offer(space, opened, found)


async def offer_for_calls(space: OpenSpace, opened: OpenAgent) -> LoadOffer | None:
    """The offer for the tool calls of the last turn in view; None if there is none."""
    live = opened.live
    if not live.turns or not (names := names_of_calls(live.turns[-1])):
        return None
    before = OpenAgent(opened.state, structs.replace(live, turns=live.turns[:-1], open=None))
    found = await _find(space, before, names, live.turns[-1].prompt_ref)
    if found is None or found.count > _MAX_TURNS_OF_CALL:
        return None
    asked, said = _spoken(live.turns[-1].prompt), _words_of(found.turn)
    spoken = tuple(name for name in found.names if _is_seen(name, said))
    if not spoken or any(_is_seen(name, asked) for name in spoken):
        return None  # only tools used it there, or it was offered with that prompt
    offer = await _offer(space, opened, structs.replace(found, names=spoken))
    return structs.replace(offer, by_call=True)


def _spoken(parts: Iterable[PromptPart | ReplyPart]) -> str:
    return "\n".join(part.text for part in parts if isinstance(part, Text)).casefold()


def _words_of(turn: Turn) -> str:
    """What the user and the model said in a turn, without its tools."""
    replies = [_spoken(item.parts) for item in turn.items if isinstance(item, Reply)]
    return "\n".join([_spoken(turn.prompt), *replies])


async def bring_back(
    space: OpenSpace, opened: OpenAgent, prompt: Iterable[PromptPart], budget: int
) -> LoadOffer | None:
    """Brings the turn back that would be offered, if it has at most `budget` tokens.

    A turn that somebody dropped is only offered. Returns what was brought back; None if nothing
    was.
    """
    found = await _find(space, opened, names_of_prompt(prompt))
    if found is None or _was_dropped(opened.state, found.turn):
        return None
    offer = await _offer(space, opened, found)
    if offer.tokens.tokens > budget:
        return None
    text = quoted_turn(found.turn)
    load = Load(opened.state.agent, found.turn.prompt_ref, text, place=offer.place)
    done = await space.dispatcher.dispatch(load, command_meta(SYSTEM))
    return None if isinstance(done, Refusal) else structs.replace(offer, is_brought=True)


async def take_out_unused(
    space: OpenSpace, opened: OpenAgent, prompt: Iterable[PromptPart]
) -> bool:
    """Takes the turn out again that was brought back by itself last, if nobody uses it.

    Returns whether it did.
    """
    state, turns = opened.state, opened.live.turns
    step = state.undo[-1] if state.undo else None
    if step is None or step.cause != "load" or not turns or turns[-1].first < step.version:
        return False
    [loaded] = await space.log.read(space.space, state.agent, step.version, step.version)
    if loaded.actor.role != "system" or not isinstance(loaded.event, ContextLoaded):
        return False
    asked = next(turn for turn in turns if turn.first > step.version)
    text = loaded.event.text.casefold()
    names = [name.casefold() for name in names_of_prompt(asked.prompt) if name.casefold() in text]
    said = turns[-1].texts()[len(turns[-1].prompt) :]
    said += [part.text for part in prompt if isinstance(part, Text)]
    since = "\n".join(said).casefold()
    if any(name in since for name in names):
        return False
    done = await space.dispatcher.dispatch(Undo(state.agent, step.version), command_meta(SYSTEM))
    return not isinstance(done, Refusal)


class _NamedTurn(Struct, frozen=True):
    """A turn out of view, the names that it has, and how many turns have the first of them."""

    turn: Turn
    names: tuple[str, ...]
    count: int


async def _find(
    space: OpenSpace, opened: OpenAgent, names: Sequence[str], calling: EventRef | None = None
) -> _NamedTurn | None:
    """The turn to offer for these names. `calling` is the turn that they are from, if any."""
    if not names:
        return None
    seen = _text_in_view(opened.state, opened.live)
    wanted = [name for name in names if not _is_seen(name, seen)]
    found: dict[EventRef, list[str]] = {}
    for name in wanted:
        for turn in await _turns_with(space, opened, name):
            if turn == calling:
                continue
            found.setdefault(turn, []).append(name)
    # The turn with most of the names, and of those the newest: it knows how things ended.
    for best in sorted(found, key=lambda turn: (len(found[turn]), turn.version), reverse=True):
        [first] = await space.log.read(space.space, best.agent, best.version, best.version)
        if first.kind not in TURN_STARTS:  # a goal or a note, which stands outside of turns
            continue
        turn = await whole_turn(space.log, space.space, best.agent, best.version)
        if turn.status != "open" and await _is_on_path(space, opened.state, turn):
            names = tuple(found[best])
            count = sum(names[0] in each for each in found.values())
            return _NamedTurn(turn, names, count)
    return None


def _text_in_view(state: State, live: LivePath) -> str:
    texts = [text for turn in live.all_turns for text in turn.texts()]
    texts += [text.text for text in front_texts(live)]
    texts += [pin.text for pin in state.pins]
    return "\n".join(texts).casefold()


def _is_seen(name: str, seen: str) -> bool:
    """Whether a name is in view; a file also by its last part."""
    folded = name.casefold()
    return folded in seen or folded.rstrip("/").rpartition("/")[2] in seen


async def _turns_with(space: OpenSpace, opened: OpenAgent, name: str) -> list[EventRef]:
    """The turns of the agent that have a name, without the one that the prompt opened.

    None if one of them is in view: the search also finds `marc.py` in `marc-py`.
    """
    agent, phrase = opened.state.agent, name.replace('"', " ")
    hits = await space.log.search(space.space, f'"{phrase}"', agents=[agent], limit=_HITS)
    before = (hit.turn for hit in hits if hit.turn <= opened.state.version)
    turns = [EventRef(agent, turn) for turn in dict.fromkeys(before)]
    in_view = {turn.prompt_ref for turn in opened.live.turns}
    return [] if in_view.intersection(turns) else turns


async def _is_on_path(space: OpenSpace, state: State, turn: Turn) -> bool:
    """Whether a turn precedes the newest one. A turn that was rewound does not."""
    back_to = Context(state.context.tip, turn.parent)
    path = await read_live(space.log, space.space, state, context=back_to)
    return any(each.prompt_ref == turn.prompt_ref for each in path.turns)


def _was_dropped(state: State, turn: Turn) -> bool:
    """Whether a turn on the path that is out of view comes after `head`."""
    head = state.context.head
    return head is None or head.agent != turn.agent or turn.first > head.last


async def _offer(space: OpenSpace, opened: OpenAgent, found: _NamedTurn) -> LoadOffer:
    state, turn = opened.state, found.turn
    counter = space.counter_for(state.settings.model)
    raw = counter.count(quoted_turn(turn)).tokens
    tokens = calibrated(raw, counter, state.ratio())
    budget = budget_of(state, opened.live, counter)
    fixed = (budget.system + budget.tools + budget.pins).tokens
    price = input_price(state.settings.model, state.last_call.lifetime)
    # The quotation stands before the turns in view, so the cache serves only what is before it.
    total = budget.total.tokens
    before, after = price(total, total), price(total + tokens.tokens, fixed)
    place = await place_of(space, state, turn)
    return LoadOffer(
        found.names,
        place,
        f"{TABLE['bring'].typed} {place}",
        tokens,
        None if before is None or after is None else max(0, after - before),
        found.count,
    )
