"""Handlers of commands that change what the model sees: marks, clears, pins, summaries, reverts."""

import re

from msgspec import structs

from sapwood.conversation import answers
from sapwood.conversation.agent_lookup import find, find_turn, find_turns, place_of
from sapwood.conversation.call import Call
from sapwood.conversation.prompt_checks import finish_revert, hook_objection, reverter_of
from sapwood.core import commands, refusals
from sapwood.core.budget import budget_of, overflow_text
from sapwood.core.content import Note, PromptPart, Text
from sapwood.core.context import Context
from sapwood.core.context_diff import cut_change, view_change
from sapwood.core.decide.contexts import LOADS_KEPT, named, undone_with
from sapwood.core.decide.drops import dropped_turns
from sapwood.core.errors import RefusedError, accepted
from sapwood.core.events import ContextSummarized
from sapwood.core.ids import TurnPlace, TurnRef
from sapwood.core.turn import Turn, quoted_turn
from sapwood.core.turn_numbers import means_turn, parse_place
from sapwood.turns.context_before_turn import context_before, notes_of_return
from sapwood.turns.open_agent import OpenAgent, read_live
from sapwood.turns.turn_lookup import TurnStart, whole_turn

RETRY_STEP = "rewind"
"""The step of `/retry` before it opens its turn."""

_BACKWARD = re.compile(r"#?([0-9]{1,9})-([0-9]{1,9})")
_NUMBER = re.compile(r"[0-9]+")
_MAX_NUMBER = 10**9
_ANYWAY = "--anyway"
_BY_RULES = (
    "The earlier turns were replaced with a summary that Sapwood built by rules. It is shown below."
)
_BEFORE = "The summary before it:"


async def mark(call: Call) -> answers.Changed:
    """Names the present place."""
    return await call.changed(commands.SetMark(call.agent, _one_name(call) or ""))


async def clear(call: Call) -> answers.Changed:
    """Clears, keeps the last turns, or goes back to a mark.

    A model may write a note to itself after the mark.
    """
    first, rest = call.first_and_rest
    if not first:
        return await call.changed(commands.Clear(call.agent))
    if rest and call.by_model:
        return await call.changed(commands.Rewind(call.agent, first, rest))
    if rest:
        raise call.misused("Give one number or one mark.")
    if not _NUMBER.fullmatch(first):
        return await call.changed(commands.Rewind(call.agent, first))
    count = _counted(first)
    if not count:
        raise call.misused("N is a number of turns: 1 or more.")
    return await call.changed(commands.KeepLast(call.agent, count))


async def drop(call: Call) -> answers.Changed | answers.ArgumentNeeded:
    """Drops turns or tool results from the middle of what is in view.

    Where a person can pick turns from a list, they pick them if they name none.
    """
    if not call.words and call.services.picks:
        return _to_pick(call, "Which turns?")
    only_results = "--results" in call.words
    words = [word for word in call.words if word != "--results"]
    places = [await _place(call, word) for word in words]
    if not places or (only_results and any(place.result for place in places)):
        raise call.misused("Give turns by number: 4, 4-9, 4.2 for a tool result, --results 4-9.")
    typed = " ".join(["--results", *words] if only_results else words).replace("#", "")
    return await call.changed(commands.Drop(call.agent, tuple(places), only_results, typed))


async def _place(call: Call, typed: str) -> TurnPlace:
    """A place that somebody typed, with the id of its conversation if it is another one."""
    place = parse_place(typed)
    state = (await call.opened()).state
    if place is None and (backward := _BACKWARD.fullmatch(typed)):
        first, last = backward.groups()
        if int(first) > int(last):
            instead = f"{call.run.command.typed} {last}-{first}"
            raise call.misused(f"In {typed}, the first number is the larger one. Type {instead}.")
    if place is None and "," in typed:
        name = call.run.command.typed
        raise call.misused(
            f"Put spaces between the turns: {name} 5 7, {name} 5-7, or {name} 4.2 for a tool "
            "result."
        )
    if place is None:
        raise RefusedError(
            refusals.UnknownTurn(typed, state.turns, inherits=state.parent is not None)
        )
    if not place.agent:
        return place
    agent = await find(call.space, place.agent, parent=state.parent)
    return structs.replace(place, agent=agent)


async def rewind(call: Call) -> answers.Changed | answers.ArgumentNeeded:
    """Goes back to a mark or to before a turn; without a name, to the newest mark.

    Where a person can pick a place from a list, they pick one instead.
    """
    place = _one_name(call)
    if place is None and call.services.picks:
        return _to_pick(call, "Which mark or turn?")
    if place is None or not means_turn(place):
        return await _moved(call, commands.Rewind(call.agent, place))
    opened = await call.opened_before()
    turn, shown = await find_turn(call.space, opened, place)
    return await _moved(call, await _before(call, opened, turn, shown))


async def edit(call: Call) -> answers.PromptToEdit | answers.ArgumentNeeded:
    """Goes back to before a turn, by default the last in view, and gives its prompt to change."""
    place = _one_name(call)
    if place is None and call.services.picks:
        return _to_pick(call, "Which turn?")
    opened = await call.opened_before()
    if place is None and not opened.live.turns:
        raise RefusedError(refusals.UnknownTurn("", opened.state.turns))
    if place is None:
        turn = opened.live.turns[-1]
        shown = await place_of(call.space, opened.state, turn)
    else:
        turn, shown = await find_turn(call.space, opened, place)
    prompt = "\n\n".join(part.text for part in turn.prompt if isinstance(part, Text))
    moved = await _moved(call, await _before(call, opened, turn, shown))
    message = f"Change the prompt of turn {shown} and send it. {moved.message}"
    return answers.PromptToEdit(call.agent, prompt, message, moved.events)


async def retry(call: Call) -> answers.Prompted:
    """Goes back to before the last request in view and asks it again.

    If the prompt would be refused, nothing changes.
    """
    if (first := await call.first_prompted()) is not None:
        return first
    if (refused := await finish_revert(call.services, (await call.opened()).state)) is not None:
        raise RefusedError(refused)
    is_new = await call.first_answer(RETRY_STEP) is None
    opened = await call.opened_before(RETRY_STEP)
    state = opened.state
    turn = next((each for each in reversed(opened.live.turns) if each.is_request), None)
    if turn is None:
        raise RefusedError(refusals.NothingToRetry())
    if state.origin is not None:
        raise RefusedError(refusals.Imported(state.agent, state.origin.source))
    if call.services.models is not None:
        call.services.models.require(state.settings.model)
    own = turn.agent == state.agent
    prompt = tuple([part for part in turn.prompt if _is_asked_again(part, own=own)])
    if is_new:
        if (objection := await hook_objection(call.services, state, prompt)) is not None:
            raise RefusedError(objection)
        shown = await place_of(call.space, state, turn)
        back = await _before(call, opened, turn, shown)
        await call.give_step(structs.replace(back, cause="retry"), RETRY_STEP)
    return await call.open_turn(prompt, checked=is_new)


def _is_asked_again(part: PromptPart, *, own: bool) -> bool:
    """Whether this part of a prompt is sent again: what a person gave, also by a shell command.

    Notes of an own turn wait again after the rewind. Those of a turn that a fork inherited do not,
    so they are sent here, but for what was told to its parent as a child.
    """
    if not isinstance(part, Note):
        return True
    return part.origin == "shell" or (not own and part.origin in ("mail", "self", "delegated"))


async def _before(call: Call, opened: OpenAgent, turn: Turn, place: str) -> commands.Rewind:
    log, space = call.space.log, call.space.space
    context = await context_before(log, space, opened, turn)
    version = turn.first - 1 if turn.agent == opened.state.agent else 0
    notes = await notes_of_return(log, space, opened, context, version)
    return commands.Rewind(
        call.agent,
        before=TurnRef(turn.agent, turn.first, max(turn.first, turn.last)),
        context=context,
        place=place,
        notes_left=notes.left,
        notes_in_view=notes.in_view,
    )


def _to_pick(call: Call, question: str) -> answers.ArgumentNeeded:
    command = call.run.command
    argument = next(each for each in command.arguments if each.name)
    return answers.ArgumentNeeded(command.name, argument, call.misused(question).refusal.sentence)


async def undo(call: Call) -> answers.Changed:
    """Takes the last context command back; without `--anyway` not if several later turns leave."""
    if call.words not in ([], [_ANYWAY]):
        raise call.misused(f"The only option here is {_ANYWAY}.")
    opened = await call.opened()
    step = opened.state.undo[-1] if opened.state.undo else None
    later = undone_with(opened.state, opened.live, step) if step and not call.words else ()
    if step and len(later) > 1 and not await call.first_answer():
        first, last = later[0].number, later[-1].number
        raise RefusedError(refusals.UndoTakesTurns(named(step), first, last, len(later)))
    return await _moved(call, commands.Undo(call.agent))


async def redo(call: Call) -> answers.Changed:
    """Takes the last undo back."""
    return await _moved(call, commands.Redo(call.agent))


async def bring(call: Call) -> answers.Changed:
    """Brings dropped turns and results back to their place, and other turns that left view as
    quotations in front of the turns in view.

    A model may bring turns of its own back and turns that its agent inherited.
    """
    words = call.words
    dropped = [place for word in words if (place := await _dropped_place(call, word))]
    if dropped and len(dropped) < len(words):
        raise call.misused("Bring dropped turns back first, then the others.")
    if dropped:
        typed = " ".join(words).replace("#", "")
        return await call.changed(commands.Restore(call.agent, tuple(dropped), typed))
    places = [parse_place(word) for word in words]
    if not words or sum(len(place.numbers) for place in places if place) > LOADS_KEPT:
        raise call.misused(f"Give up to {LOADS_KEPT} turns by number, such as 3, 4-9 or NAME/3.")
    starts = [start for word in words for start in await _brought(call, word)]
    first, *more = [await _quoted(call, start) for start in starts]
    load = commands.Load(call.agent, first.source, first.text, tuple(more), first.place)
    return await call.changed(load)


async def _dropped_place(call: Call, typed: str) -> TurnPlace | None:
    """The place that was typed, if it has something that was dropped from the live path."""
    opened = await call.opened_before()
    context = opened.state.context
    if context.cuts is None or parse_place(typed) is None:
        return None
    place, space = await _place(call, typed), call.space
    path = await read_live(
        space.log, space.space, opened.state, context=structs.replace(context, cuts=None)
    )
    agent, cuts = place.agent or opened.state.agent, opened.live.cuts
    hidden = {turn.ref for turn in dropped_turns(path.turns, cuts)}
    for turn in path.turns:
        if turn.agent != agent or turn.number not in place.numbers:
            continue
        results = cuts.results_of(turn)
        if place.result in results or (not place.result and (results or turn.ref in hidden)):
            return place
    return None


async def _brought(call: Call, typed: str) -> tuple[TurnStart, ...]:
    """The turns that were typed. A model finds only its own turns and those it inherited."""
    state = (await call.opened()).state
    if not call.by_model:
        return await find_turns(call.space, state, typed)
    try:
        found = await find_turns(call.space, state, typed)
        if all([await _is_own(call, start) for start in found]):
            return found
    except RefusedError as error:
        if (
            isinstance(error.refusal, refusals.TurnRenumbered | refusals.UnknownTurn)
            and "/" not in typed
        ):
            raise
    raise RefusedError(refusals.UnknownTurn(typed, state.turns, inherits=state.parent is not None))


async def _quoted(call: Call, start: TurnStart) -> commands.QuotedTurn:
    space = call.space
    turn = await whole_turn(space.log, space.space, start.agent, start.first)
    if turn.status == "open":
        raise RefusedError(refusals.NoPassage(start.place))
    return commands.QuotedTurn(start.ref, quoted_turn(turn), start.place)


async def _is_own(call: Call, start: TurnStart) -> bool:
    """Whether a turn is in the agent's own log, or one that it inherited from an ancestor."""
    state = (await call.opened()).state
    if start.agent == state.agent:
        return True
    space = call.space
    path = await read_live(space.log, space.space, state, context=Context(state.context.tip))
    return any(each.prompt_ref == start.ref for each in path.turns)


async def pin(call: Call) -> answers.Changed:
    """Keeps a text, or the text of a file, in every request."""
    name, text = call.first_and_rest
    if not text:
        raise call.misused("A pin needs a name and some text.")
    from sapwood.conversation.prompt_files import file_named, pin_of_file

    if path := file_named(text):
        state = (await call.opened()).state
        return await call.changed(await pin_of_file(call.services, state, name, path))
    return await call.changed(commands.AddPin(call.agent, name, text))


async def unpin(call: Call) -> answers.Changed:
    """Takes a pin out."""
    if not call.run.args:
        raise call.misused("Which pin?")
    return await call.changed(commands.RemovePin(call.agent, call.run.args))


async def compact(call: Call) -> answers.Changed | answers.Compacted:
    """Has a model put a checked summary in place of the history.

    A model's own wish is carried out when its turn completes. Only a person can insist on a
    summary that the check refuses.
    """
    keep, anyway, wanted = _compact_arguments(call)
    if call.by_model:
        return await call.changed(commands.DeferCompact(call.agent, keep))
    state = (await call.opened()).state
    if state.origin is not None:
        return await _compact_by_rules(call, keep, wanted)
    if (write := call.services.compact) is None:
        raise RefusedError(refusals.ModelNeeded(call.run.command.typed, call.agent))
    done, take = await call.first_answer(), None
    if done is None:
        if call.session is not None:  # others need not wait for the model
            await call.session.release()
            take = call.session.take
        done = accepted(await write(call.agent, keep, anyway, call.given(), wanted, take))
    return answers.Compacted(call.agent, done.message, done.events)


async def _compact_by_rules(call: Call, keep: int, wanted: str) -> answers.Compacted:
    """Puts the ledger in place of the history: what was asked, done and decided, by rules.

    A session of another program is compacted so, because its model cannot be called from here. The
    summary in view stays in the new one, and the ledger covers the turns that it stands for.
    """
    from sapwood.analysis.ledger.entries import render_ledger
    from sapwood.turns.summary_basis import summary_basis

    opened, space = await call.opened(), call.space
    turns = opened.live.turns[: max(0, len(opened.live.turns) - keep)]
    basis = await summary_basis(space.log, space.space, opened.state, turns)
    text = _text_by_rules(opened.live.summary, wanted)
    listed = render_ledger(basis.ledger)
    command = commands.Compact(call.agent, text, keep, listed, context=opened.state.context)
    done = await call.give(command)
    return answers.Compacted(call.agent, done.message, done.events)


def _text_by_rules(old: ContextSummarized | None, wanted: str) -> str:
    """The text of a summary by rules: what is to be kept, and the text of the summary before it."""
    before = old.text.removeprefix(_BY_RULES).strip() if old is not None else ""
    before = before.removeprefix(_BEFORE).strip()
    parts = [_BY_RULES]
    parts += [f"The user wants this to be kept: {wanted}"] if wanted else []
    parts += [f"{_BEFORE}\n\n{before}"] if before else []
    return "\n\n".join(parts)


async def revert(call: Call) -> answers.FilesReverted:
    """Takes files and context back to before a turn."""
    words = [word for word in call.words if word != "--anyway"]
    if len(words) > 1:
        raise call.misused("One turn, please.")
    reverter = reverter_of(call.services)
    if reverter is None:
        raise RefusedError(refusals.NoCheckpoint())
    anyway = "--anyway" in call.words
    done = accepted(
        await call.first_answer()
        or await reverter.revert(call.agent, "".join(words), anyway=anyway, why=call.given())
    )
    return answers.FilesReverted(call.agent, done.message, done.events)


async def _moved(call: Call, command: commands.Command) -> answers.Changed:
    """Moves the context, and says what came into view and what left it.

    A rewind also brings back the drops of then: which ones come back or end is said too. If more
    is in view than before, and more than the model's window or the cap, that is said as well.
    """
    before = await call.opened()
    done = await call.give(command)
    if done.repeated:
        return answers.Changed(call.agent, done.message, done.events)
    after = await call.opened()
    drops = cut_change(before.live, after.live) if isinstance(command, commands.Rewind) else ""
    back = "/redo" if isinstance(command, commands.Undo) else "/undo"
    said = [done.message, view_change(before.live, after.live), drops]
    said.append(_overflow(call, before, after, back))
    return answers.Changed(call.agent, " ".join(each for each in said if each), done.events)


def _overflow(call: Call, before: OpenAgent, after: OpenAgent, back: str) -> str:
    """What the view has outgrown, if it has grown."""
    state = after.state
    counter = call.space.counter_for(state.settings.model)
    now = budget_of(state, after.live, counter)
    if now.total.tokens <= budget_of(before.state, before.live, counter).total.tokens:
        return ""
    return overflow_text(now, back)


def _one_name(call: Call) -> str | None:
    if len(call.words) > 1:
        raise call.misused("Give only one name.")
    return call.words[0] if call.words else None


def _compact_arguments(call: Call) -> tuple[int, bool, str]:
    """How many turns stay, whether a weak summary is accepted, and what to keep, in words."""
    words = call.words
    anyway = _ANYWAY in words
    if anyway and call.by_model:
        raise call.misused("Only a person can accept an incomplete summary.")
    match [word for word in words if word != _ANYWAY]:
        case []:
            return 0, anyway, ""
        case ["--keep", number, *rest] if _NUMBER.fullmatch(number):
            keep, wanted = _counted(number), " ".join(rest)
        case ["--keep", *_]:
            raise call.misused("Give the number of turns to keep after --keep.")
        case [number] if _NUMBER.fullmatch(number):
            raise call.misused(f"To keep the last {number} turns, type: /compact --keep {number}")
        case rest:
            keep, wanted = 0, " ".join(rest)
    if wanted and call.by_model:
        raise call.misused("Only a person can say what to keep. Write it in your answer instead.")
    return keep, anyway, wanted


def _counted(digits: str) -> int:
    """The number; one with more digits than any history has turns is the largest that counts."""
    return int(digits) if len(digits) < 10 else _MAX_NUMBER
