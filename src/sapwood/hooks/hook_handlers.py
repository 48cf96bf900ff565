"""What each hook does, one function per hook.

Every function imports what it needs when it is called, because a hook pays for every import.
"""

import os
import time
from collections.abc import Callable, Mapping

from sapwood.hooks.hook_call import HookAnswer, HookCall
from sapwood.hooks.watched_session import HOOK_BYTES, LAST_REPLY_BYTES, WatchedSession

_OPENING_SECONDS = 10.0
"""How long a program may take from its start to its first hook."""


def _session_start(call: HookCall) -> HookAnswer:
    """After a compaction: gives the model a resumption prompt, and tells the user.

    A resumed or forked session has its history in view: its warnings start again, and the user
    hears what coming back costs if the provider's cache has ended, or that a change came too late
    for it. After a clear the model gets a prompt only if the user has set `tending.after_clear`.
    """
    source = call.input.source or ""
    session = call.session()
    if session:
        session.memory.put("ended", 0)
    if source in ("resume", "fork") and session:
        session.memory.put("warned", 0)  # the next prompt warns again where that is due
        from sapwood.hooks.status_line import cold_line

        line = _early_start_notice(session, call) or cold_line(session.memory)
        return HookAnswer(f"Sapwood: {line}" if line else "")
    if source == "compact" and session:
        recap = _resumption(session, call.environ, source).context
        notice = _compaction_notice(session, call.input.program)
        return HookAnswer(f"{notice} The model got a recap." if recap else notice, recap)
    if source == "clear" and (earlier := call.earlier_session()):
        from sapwood.config.config_file import load_config
        from sapwood.hooks.hook_archives import archive_session

        archive_session(earlier, "Before a clear")
        if load_config(call.environ).tending.after_clear:
            return _resumption(earlier, call.environ, source)
    return HookAnswer()


def _user_prompt_submit(call: HookCall) -> HookAnswer:
    """When the user sends a prompt: warns once for each fill level that the window has passed."""
    session = call.session()
    if session is None or call.input.agent_id is not None:
        return HookAnswer()
    session.memory.forget("cold")  # this prompt fills the cache; the end of the turn says anew when
    from sapwood.analysis.compaction_warning import WindowUsage, window_warning
    from sapwood.config.config_file import load_config
    from sapwood.hooks.status_line import compaction_limit

    tail = session.read(LAST_REPLY_BYTES)
    name, project = call.input.program, call.project
    limit = compaction_limit(name, tail.window, session.memory, call.environ, project)
    if not tail.used or not limit:
        return HookAnswer()
    usage = WindowUsage(tail.used, limit)
    config = load_config(call.environ)
    level = sum(usage.share >= each for each in config.context.levels)
    if level <= session.memory.number("warned"):
        return HookAnswer()
    session.memory.put("warned", level)
    from sapwood.hooks.prepared_context import prepared_for
    from sapwood.journal import add_to_journal

    prepared = prepared_for(session, call.environ)
    text = window_warning(usage, prepared.lost, prepared.remedies)
    question = ""
    if level == len(config.context.levels) and _is_asked(call, config.compaction.automatic):
        question = "\nAutomatic compaction is off. To compact now, type: /compact"
    about = {"source": name, "session": session.session, "folder": session.folder}
    add_to_journal("warned", text.partition("\n")[0], **about)
    return HookAnswer(message=f"Sapwood: {text}{question}", context=text)


def _pre_compact(call: HookCall) -> HookAnswer:
    """Before a compaction: archives what is in view, and lets the warnings start again.

    The program's summariser gets what must be kept, if it takes words.
    """
    if session := call.session():
        from sapwood.hooks.hook_archives import archive_session

        archive_session(session, f"Before a compaction ({call.input.trigger or 'unknown'})")
        session.memory.put("warned", 0)
        _remember_what_leaves(session)
        words = _words_to_keep(session, call)
        session.start_background_work(call.environ)
        return HookAnswer(words=words)
    return HookAnswer()


def _stop(call: HookCall) -> HookAnswer:
    """When a turn has ended: starts the background process."""
    if session := call.session():
        session.start_background_work(call.environ)
    return HookAnswer()


def _subagent_start(call: HookCall) -> HookAnswer:
    """When a subagent starts: gives it a short resumption prompt of the session it works for."""
    session = call.session()
    if session is None:
        return HookAnswer()
    from sapwood.hooks.prepared_context import prepared_for

    prompt = prepared_for(session, call.environ, up_to_now=True).brief
    return _prompt_answer(session, prompt, "a subagent")


def _subagent_stop(call: HookCall) -> HookAnswer:
    """When a subagent has ended: archives what it did, because its window is gone."""
    if subagent := call.subagent():
        from sapwood.hooks.hook_archives import archive_session

        last_message = call.input.last_assistant_message or ""
        archive_session(subagent, f"A subagent ended ({call.input.agent_type})", last_message)
        if session := call.session():
            session.start_background_work(call.environ)
    return HookAnswer()


def _session_end(call: HookCall) -> HookAnswer:
    """When a session ends: archives what a clear drops, and starts the background process."""
    if session := call.session():
        if call.input.reason == "clear":
            from sapwood.hooks.hook_archives import archive_session

            archive_session(session, "Before a clear")
        session.memory.put("ended", 1)  # what waits for the end of the session is done then
        session.start_background_work(call.environ)
    return HookAnswer()


HANDLERS: Mapping[str, Callable[[HookCall], HookAnswer]] = {
    "session-start": _session_start,
    "user-prompt-submit": _user_prompt_submit,
    "pre-compact": _pre_compact,
    "stop": _stop,
    "subagent-start": _subagent_start,
    "subagent-stop": _subagent_stop,
    "session-end": _session_end,
}
"""The function of each hook, by the hook's name."""


def _is_asked(call: HookCall, everywhere: str) -> bool:
    """Whether the user wants to be asked for compactions in this project, else `everywhere`."""
    from sapwood.programs.installation.project_settings import chosen_automatic
    from sapwood.programs.registry import program

    name = call.input.program
    here = chosen_automatic(program(name), call.project) if name else "on"
    return (everywhere if here == "on" else here) == "ask"


def _early_start_notice(session: WatchedSession, call: HookCall) -> str:
    """What to do if the session was opened before a change that waited for its end; else empty.

    Its program has read the old history then. Or the change is in a new session.
    """
    memory, now = session.memory, time.time()
    if continued := memory.get("continued"):
        memory.forget("continued")
        unchanged = "This session is unchanged. Your last change is in a new session."
        return f"{unchanged} Type /exit, then type: {_resume_command(call, continued)}"
    changed = memory.number("changed") / 1_000
    if now - changed < _OPENING_SECONDS and changed > _start_of(os.getppid()):
        was = "changed while it was being opened, so the model may still see the old history"
    elif _is_still_waiting(memory.get("waiting"), call.environ):
        was = "opened before your last change reached it, so the model sees the old history"
    else:
        memory.forget("waiting")
        return ""
    resume = _resume_command(call, session.session)
    return f"This session was {was}. Type /exit, wait 3 seconds, then type: {resume}"


def _resume_command(call: HookCall, session: str) -> str:
    from sapwood.programs.registry import resume_command_for

    return resume_command_for(call.input.program, session)


def _is_still_waiting(agent: str, environ: Mapping[str, str]) -> bool:
    if not agent:
        return False
    import asyncio

    from sapwood.hooks.session_watcher import is_behind

    return asyncio.run(is_behind(agent, environ))


def _start_of(process: int) -> float:
    """When a process was started, in seconds since 1970; the present where that is not known."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            ticks = int(file.read().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        age = 0.0
    return time.time() - age


def _resumption(session: WatchedSession, environ: Mapping[str, str], source: str) -> HookAnswer:
    """The resumption prompt with the path of the last archive; empty without a conversation."""
    from sapwood.hooks.prepared_context import prepare, prepared_for

    prepared = prepared_for(session, environ)
    if session.read(LAST_REPLY_BYTES).last_request not in ("", prepared.request):
        prepared = prepare(session, environ, HOOK_BYTES)  # the user has asked for something since
    prompt = prepared.resumption
    if not prompt:
        return HookAnswer()
    if archives := session.memory.get("archives").splitlines():
        prompt += f"\n\nArchived: {archives[-1]}" if prepared.names_archive else ""
    return _prompt_answer(session, prompt, f"the model after {source}")


def _words_to_keep(session: WatchedSession, call: HookCall) -> str:
    """What the program's own summary must keep: the user's words, goals, notes; else empty."""
    from sapwood.config.config_file import load_config
    from sapwood.hooks.prepared_context import last_prepared
    from sapwood.programs.registry import program

    name = call.input.program
    if not name or not program(name).hooks.takes_words:
        return ""
    prepared = last_prepared(session.memory)
    wanted = [load_config(call.environ).compaction.keep, prepared.keep if prepared else ""]
    lines = "\n".join(filter(None, wanted))
    return f"The summary must keep the following, word for word:\n{lines}" if lines else ""


def _remember_what_leaves(session: WatchedSession) -> None:
    """Remembers the size of the context and the turns before a compaction.

    The background process may read the transcript again when the compaction is in it.
    """
    from sapwood.hooks.prepared_context import last_prepared

    prepared = last_prepared(session.memory)
    session.memory.put("tokens-before", session.read(LAST_REPLY_BYTES).used or 0)
    session.memory.put("turns-before", prepared.turns if prepared else 0)
    session.memory.put("matter-before", session.memory.get("matter"))


def _compaction_notice(session: WatchedSession, name: str) -> str:
    """One line for the user: what left view, and how to bring it back."""
    from sapwood.analysis.compaction_warning import CompactionNotice
    from sapwood.programs.registry import program

    read = session.read(LAST_REPLY_BYTES)
    last = read.compactions[-1] if read.compactions else None
    before, turns = session.memory.number("tokens-before"), session.memory.number("turns-before")
    kept = last.kept if last else 0
    notice = CompactionNotice(
        (last and last.before_tokens) or before,
        (last and last.after_tokens) or 0,
        max(0, turns - kept),
        program(name).own_command if name else "sapwood {}",
        _turns_to_bring_back(session, kept),
    )
    return f"Sapwood: {notice.describe()}"


def _turns_to_bring_back(session: WatchedSession, kept: int) -> str:
    """The numbers of the turns that left view and matter; if none matters, the newest that left.

    The compaction `kept` the last turns as they were.
    """
    matter, _, in_view = session.memory.get("matter-before").partition("\n")
    numbers = in_view.split()
    left = numbers[: max(0, len(numbers) - kept)]
    wanted = [number for number in matter.split() if number in left]
    return " ".join(wanted or left[-1:])


def _prompt_answer(session: WatchedSession, prompt: str, receiver: str) -> HookAnswer:
    if prompt:
        from sapwood.journal import add_to_journal
        from sapwood.tokens.estimators import Chars4Counter

        tokens = Chars4Counter().count(prompt).tokens
        message = f"Gave {receiver} a resumption prompt of ~{tokens:,} tokens."
        add_to_journal("resumed", message, session=session.session, folder=session.folder)
    return HookAnswer(context=prompt)
