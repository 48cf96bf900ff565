"""One example of every kind of event, with every field set, and strategies for any of them."""

from typing import get_args

from hypothesis import strategies as st

from sapwood.core.checkpoint import Destination, LeftOut, Restored, Saved
from sapwood.core.content import (
    Ended,
    File,
    Note,
    RecordedReply,
    RecordedResult,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from sapwood.core.context import Context, CutLayer, Mark, Mask, ResultCut, TurnCut
from sapwood.core.events import (
    AgentArchived,
    AgentForked,
    AgentKilled,
    AgentRenamed,
    AgentStarted,
    AgentTagged,
    AgentUnarchived,
    CallReported,
    CheckpointMade,
    CheckpointMissed,
    ClearDeferred,
    ContextCut,
    ContextLoaded,
    ContextRedone,
    ContextRestored,
    ContextReverted,
    ContextRewound,
    ContextSummarized,
    ContextTrimmed,
    ContextUndone,
    DropDeferred,
    Event,
    FileAdded,
    Focused,
    GoalEnded,
    GoalSet,
    InstructionsRead,
    InstructionText,
    JobEnded,
    JobStarted,
    JudgedKind,
    JudgedSentence,
    JudgedStatus,
    JudgedStretch,
    MailRead,
    MailReceived,
    MailSent,
    MarkSet,
    ModelCalled,
    NativeRecorded,
    NoteDeclared,
    NoteKind,
    ParentNote,
    Pin,
    PinAdded,
    PinRemoved,
    PromptQueued,
    PromptUnqueued,
    QuestionAnswered,
    QuestionAsked,
    ReplyAdded,
    ReplyLost,
    ReplyStreamed,
    ResultsMasked,
    RevertStarted,
    SessionDiffered,
    SessionJudged,
    SessionSynced,
    SettingsChanged,
    ShellRan,
    SideAnswered,
    Size,
    SummaryDropped,
    TodoItem,
    TodoWritten,
    ToolFinished,
    ToolStarted,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    TurnLeased,
    TurnRecorded,
    TurnStarted,
    Unfocused,
    WordsErased,
)
from sapwood.core.ids import AgentId, EventRef, Origin, TranscriptRange, TurnPlace, TurnRef
from sapwood.core.lease import Lease
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.core.settings import Settings, SettingsChange, Workspace
from sapwood.core.tags import Entry, Tags
from sapwood.core.token_count import Calibration

LEAD, CHILD = AgentId("lead"), AgentId("child")
CONTEXT = Context(
    TurnRef(LEAD, 20, 25),
    TurnRef(LEAD, 10, 15),
    EventRef(LEAD, 16),
    EventRef(LEAD, 10),
    Mask(EventRef(LEAD, 22), 2000),
)
CUT = Context(TurnRef(LEAD, 20, 25), cuts=EventRef(LEAD, 31))
LAYER = CutLayer(
    None,
    (
        TurnCut(TurnRef(LEAD, 4, 9), None),
        TurnCut(TurnRef(LEAD, 20, 25), TurnRef(LEAD, 10, 15)),
        TurnCut(TurnRef(LEAD, 10, 15), None, back=True),
    ),
    (ResultCut(TurnRef(LEAD, 16, 19), (1, 3)),),
)
PROMPT = (Note("mail", "The build is red.", "scout"), Text("Why? 数据 🌳"))
CALL = ToolCall("call-1", "read", '{"path": "a.py"}')
FILES = Saved("c" * 40, "d" * 40, (LeftOut("big.bin", "large"), LeftOut("lib/", "repository")), 3)
SESSION = ProgramSession("claude-code", "4cfa198d", "projects/a/4cfa198d.jsonl")
LONG = "A line of a long text.\n" * 100

EXAMPLES: tuple[Event, ...] = (
    AgentStarted(),
    AgentStarted(
        by="fork",
        name="lead",
        settings=Settings("gpt-5", "Be brief.", 50_000, 0.5, 4_000, 200_000, (0.4, 0.6, 0.8)),
        workspace=Workspace("project", "worktree", "branch"),
        pins=(Pin("rule", "No force push."),),
        parent=LEAD,
        mark="TASK",
        context=CONTEXT,
    ),
    AgentStarted(by="fork", calibration={"gpt-5": Calibration((1.25, 0.8))}),
    AgentStarted(by="fork", offered=900),
    AgentStarted(by="fork", unprompted=3),
    AgentStarted(by="fork", notes=(Note("parent", "The request below is yours.", "lead"),)),
    AgentStarted(by="fork", told=ParentNote("lead", "97cfe6877473")),
    AgentStarted(by="fork", instructions=(InstructionText("AGENTS.md", "Use tabs."),)),
    AgentStarted(by="import", origin=Origin("codex", "01a1", "sessions/rollout-01a1.jsonl")),
    AgentStarted(tags=Tags("user-42", ("vip",), (Entry("plan", "gold"),))),
    AgentForked(CHILD),
    AgentForked(CHILD, "TASK", PROMPT, delegated=True),
    AgentForked(CHILD, "", PROMPT, delegated=True, fence="0f1e2d3c4b5a"),
    AgentForked(CHILD, "", PROMPT, side=True),
    AgentArchived(),
    AgentArchived(CHILD),
    AgentUnarchived(),
    AgentRenamed("leak hunt", "claude-sonnet-5-5", Usage(120, 8, cost=90)),
    AgentTagged(Tags()),
    AgentTagged(Tags("user-42", ("vip",), (Entry("plan", "gold"),))),
    FileAdded(File("image/png", "aGVyb24=", "heron.png", 640, 480)),
    AgentKilled(LEAD),
    AgentKilled(LEAD, CHILD),
    SettingsChanged(SettingsChange()),
    SettingsChanged(SettingsChange("gpt-5"), "oak failed: It is overloaded."),
    SettingsChanged(SettingsChange("gpt-5", "", 0, 1.0, 0, 0, (0.5, 0.65, 0.85))),
    PinAdded(Pin("rule", "No force push.", "docs/rules.md")),
    PinRemoved("rule"),
    ContextLoaded(EventRef(LEAD, 7), "User: Hello.", "ab12"),
    ContextLoaded(EventRef(LEAD, 9), "User: And?", "ab12", joined=True),
    InstructionsRead((InstructionText("AGENTS.md", "Use tabs."),)),
    InstructionsRead((InstructionText("AGENTS.md", "Use tabs.", "0f1e2d3c4b5a"),)),
    Focused("auth", 2),
    NoteDeclared("answer", "Thirty days", 7),
    SessionJudged("gpt-5"),
    SessionJudged(
        "codex",
        (JudgedStretch(4, 6, "other work", 1_700_000_000_000_000, 1_700_000_060_000_000),),
        (JudgedSentence("Keep sessions for 30 days", "decision", "30", "How long?"),),
        Usage(900, 40, 100, 200, 1_200),
    ),
    Unfocused("auth"),
    TurnStarted(None, (Text("Hello."),)),
    TurnStarted(TurnRef(LEAD, 10, 15), PROMPT),
    TurnStarted(None, (Text("Hello."),), Lease("ab12", 1_700_000_000_000_000)),
    TurnStarted(
        None,
        (Text("Hello."),),
        trace="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    ),
    TurnLeased(Lease("ab12", 1_700_000_000_000_000)),
    TurnStarted(None, (Text("What is it?"), File("image/png", "iVBORw0K", "a.png", 2, 1))),
    ReplyAdded((Text("This."), File("image/gif", "R0lGODlh"))),
    ToolFinished("1", "a screen", files=(File("image/png", "iVBORw0K"),)),
    ModelCalled("gpt-5", Context(), "0" * 64),
    ModelCalled("gpt-5", CONTEXT, "0" * 64, 1200, '{"n":0}', "f" * 64, 1, "Summarise."),
    ModelCalled("gpt-5", Context(), "0" * 64, 1200, tools="f" * 64, offered=900),
    ModelCalled("gpt-5", Context(), "0" * 64, instruction="Summarise.", summarised=3),
    CallReported("anthropic:claude-opus-5-5", 14, "prefix_binding_mismatch", command="/clear 3"),
    CallReported("openai:gpt-6-sol", missed=81_000, missed_why="tools_changed"),
    ReplyAdded(()),
    ReplyAdded(
        (Thinking("Hm.", "anthropic", "c2ln"), Text("Let me look."), CALL),
        "gpt-5",
        Usage(1200, 80, 1000, 200, 4_500),
    ),
    ReplyAdded((Text("Once upon a"),), "gpt-5", None, "length"),
    ReplyAdded((Text("Once upon"),), "gpt-5", None, "cut"),
    ReplyAdded((), "gpt-5", Usage(9, cache_write=8, cache_hour=7), response="msg_1"),
    ReplyStreamed((Thinking("A tale."), Text("Once "), ToolCall("", "write", ""))),
    ReplyLost((Text("Once "),), "gpt-5", 1_200, 7),
    QuestionAsked("q1", "shell", "make", '{"tool":"shell"}', "ab12"),
    QuestionAsked(
        "q1", "shell", "make", '{"tool":"shell"}', "ab12", "call-1", 1_700_000_000_000_000
    ),
    QuestionAnswered("q1", True, '{"type":"once"}'),
    ToolStarted("call-1"),
    ToolFinished("call-1", ""),
    ToolFinished("call-1", "no such file\0", error=True),
    ToolFinished(
        "call-1", "shell was blocked", error=True, blocked="Allow it with --allow", diff="-a\n+b"
    ),
    TurnCompleted(Size(120, "features-1")),
    TurnInterrupted(Size(0, ""), "killed"),
    TurnFailed(Size(7, "characters"), "no network", "overloaded", 1_700_000_000_000_000),
    TurnRecorded(None, (Text("Hello."),), (), Size(2, "characters")),
    TurnRecorded(
        TurnRef(LEAD, 10, 15),
        PROMPT,
        (RecordedReply((CALL,), "gpt-5", Usage(9)), RecordedResult("call-1", "x = 1", error=True)),
        Size(9, "features-1"),
        "failed",
        "no network",
    ),
    TurnRecorded(
        None,
        (Note("program", "/clear"), Text("Hello.")),
        (RecordedReply((CALL,)), RecordedResult("call-1", "done", added=3, removed=1)),
        Size(2, "characters"),
        passage=TranscriptRange("row-1", "row-4", 9_000),
    ),
    TurnRecorded(TurnRef(LEAD, 10, 15), PROMPT, (), Size(2, "characters"), aside=True),
    MarkSet(""),
    MarkSet("TASK", 20, "call-1"),
    ContextTrimmed("clear", None),
    ContextTrimmed(
        "compact",
        TurnRef(LEAD, 10, 15),
        5,
        17,
        9_000,
        EventRef(LEAD, 16),
        EventRef(LEAD, 10),
        Mask(EventRef(LEAD, 22), 2000),
    ),
    ContextTrimmed("clear", None, notes_dropped=True, exact=True),
    ContextTrimmed("keep", TurnRef(LEAD, 10, 15), 2, keep=3),
    ContextRewound("", 11, CONTEXT, before=12),
    ContextRewound("", 11, CONTEXT, before=12, place="3", cause="retry"),
    ContextRewound(
        "",
        11,
        CONTEXT,
        before=12,
        place="3",
        cause="retry",
        waiting=(Note("mail", "The build is red.", "b2c3d4", "0f1e2d3c4b5a"),),
    ),
    AgentStarted(by="script"),
    ContextSummarized("It was about numbers."),
    ContextSummarized("It was about numbers.", "changed: a.py", 0.875, "gpt-5", Usage(1200)),
    SummaryDropped("gpt-5", Usage(1200)),
    SummaryDropped("gpt-5", Usage(1200, 80), "The model wrote no summary."),
    ContextSummarized("It was about numbers.", fence="0f1e2d3c4b5a"),
    ContextSummarized("It was about numbers.", signer="anthropic", signature="c2ln"),
    ContextRewound("TASK", 12, Context()),
    ContextRewound("", 12, CONTEXT, "Retries do not help.", "0f1e2d3c4b5a"),
    ContextRewound("", 12, CONTEXT, "Retries do not help."),
    ContextUndone(CONTEXT),
    PromptQueued("q1", "And then?"),
    PromptUnqueued("q1"),
    JobStarted(1, "npm run dev", "c1", "12-34-ab"),
    JobEnded(1, "exit status 1", "boom"),
    TodoWritten((TodoItem("Read", "done"), TodoItem("Write", "active"), TodoItem("Test"))),
    GoalSet("g1", "Count."),
    GoalSet("g1", "Count.", "just test", 5, 200_000, 2_000_000),
    GoalEnded("g1", "stopped"),
    GoalEnded("g1", "reached", "It took 1 turn."),
    SideAnswered(LEAD, "Why?", "Because."),
    SideAnswered(LEAD, "Why?", "The turn failed.", failed=True),
    ShellRan("git status", "clean\n[exit status 0]"),
    ShellRan("make", "[exit status 2]", failed=True, noted=True, fence="0f1e2d3c4b5a"),
    ContextUndone(CONTEXT, "/clear 2"),
    ContextRedone(CONTEXT),
    ContextRedone(CONTEXT, "/clear 2"),
    ResultsMasked(Mask(EventRef(LEAD, 22), 2000)),
    ContextCut(LAYER),
    ContextCut(LAYER, "4-7", 4, 0, 9, 17_000, exact=True),
    ContextCut(CutLayer(EventRef(LEAD, 31), LAYER.turns), "4", 1, note="You dropped turn 4."),
    ContextRestored(CutLayer()),
    ContextRestored(LAYER, "4.2", 1, 1),
    DropDeferred((TurnPlace(4, 4, 2, "lead"),)),
    DropDeferred((TurnPlace(4, 9),), only_results=True),
    ContextUndone(CUT, "/drop 4"),
    ClearDeferred(),
    ClearDeferred("TASK", 12, 3, "Retries do not help."),
    ClearDeferred(keep=2, compact=True),
    CheckpointMade(Saved("c" * 40, "d" * 40)),
    CheckpointMade(FILES, 20, "before", 12),
    CheckpointMissed("Git failed."),
    CheckpointMissed("Git failed.", 20, 12),
    CheckpointMissed("Git failed.", 20, 12, "before"),
    RevertStarted(Saved("c" * 40, "d" * 40), Destination(12, 11, "before turn 12")),
    RevertStarted(FILES, Destination(12, 11, "before turn 12"), 26),
    RevertStarted(
        Saved("c", "d", branch="fix/roof"), Destination(0, 1, "before turn 2"), 26, "lead", 2
    ),
    ContextReverted(Destination(12, 11, ""), Context(), Saved("c", "d"), Restored(), 27),
    ContextReverted(
        Destination(12, 11, "before turn 12"),
        CONTEXT,
        FILES,
        Restored(3, 1, (LeftOut("big.bin", "unsaved"),), 2),
        27,
        (Note("mail", "The build is red.", "scout"),),
    ),
    ContextReverted(
        Destination(12, 11, "before turn 12"),
        CONTEXT,
        FILES,
        Restored(),
        27,
        marks=(Mark("A", CONTEXT, 9), Mark("", Context(), 10, 9, "use1")),
    ),
    ContextReverted(
        Destination(12, 11, "before turn 12"),
        CONTEXT,
        FILES,
        Restored(),
        27,
        waiting=(Note("mail", "The build is red.", "b2c3d4", "0f1e2d3c4b5a"),),
    ),
    MailSent("m1", CHILD, "Look."),
    MailReceived("m1", "Look."),
    MailReceived("m1", "Look.", "lead"),
    MailRead(("m1", "m2")),
    MailRead(("m1", "m2"), noted=True),
    MailRead(("m1", "m2"), noted=True, fence="0f1e2d3c4b5a"),
    WordsErased(CHILD),
    SessionSynced(ProgramSession("codex", "01a1")),
    SessionSynced(SESSION, "boundary", CONTEXT, ("row-9",), "1 image", "ab12"),
    NativeRecorded(NativeRows(SESSION, TranscriptRange("row-1", "row-4", 9_000), "cd34", "turn-1")),
    SessionDiffered("Turn 3 was sent although it is out of view."),
    ToolFinished("call-1", LONG),
    ReplyAdded((Text(LONG), ToolCall("call-1", "write", LONG), Text("short"))),
)

NAMES = [f"{number} {event.kind}" for number, event in enumerate(EXAMPLES)]

# Short, long, hostile: NUL, emoji, what looks like a reference, everything but lone surrogates.
texts = (
    st.text(max_size=40)
    | st.text(alphabet='a\0\n"\\/<>\u2028🌳数', min_size=2000, max_size=2100)
    | st.sampled_from(['{"$content":"0"}', "$content", "", "\0", "x" * 2048, "🌳" * 2048])
)
numbers = st.integers(0, 2**53)
agents = st.builds(AgentId, texts)
turn_refs = st.builds(TurnRef, agents, numbers, numbers)
event_refs = st.builds(EventRef, agents, numbers)
masks = st.builds(Mask, event_refs, numbers)
contexts = st.builds(
    Context,
    st.none() | turn_refs,
    st.none() | turn_refs,
    st.none() | event_refs,
    st.none() | event_refs,
    st.none() | masks,
    cuts=st.none() | event_refs,
)
layers = st.builds(
    CutLayer,
    st.none() | event_refs,
    st.lists(st.builds(TurnCut, turn_refs, st.none() | turn_refs, st.booleans()), max_size=3).map(
        tuple
    ),
    st.lists(
        st.builds(ResultCut, turn_refs, st.lists(numbers, max_size=2).map(tuple)), max_size=2
    ).map(tuple),
)
notes = st.builds(Note, st.sampled_from(["mail", "delegated", "self"]), texts, texts)
prompts = st.lists(st.builds(Text, texts) | notes, max_size=3).map(tuple)
usages = st.builds(Usage, numbers, numbers, numbers, numbers)
endings: st.SearchStrategy[Ended] = st.sampled_from(["done", "length", "refused", "cut"])
parts = st.lists(
    st.builds(Text, texts)
    | st.builds(Thinking, texts, texts, texts)
    | st.builds(ToolCall, texts, texts, texts),
    max_size=3,
).map(tuple)
items = st.lists(
    st.builds(RecordedReply, parts, texts, st.none() | usages)
    | st.builds(RecordedResult, texts, texts, st.booleans()),
    max_size=3,
).map(tuple)
saved = st.builds(
    Saved,
    texts,
    texts,
    st.lists(st.builds(LeftOut, texts, st.just("large")), max_size=2).map(tuple),
    numbers,
)
destinations = st.builds(Destination, numbers, numbers, texts)
restored = st.builds(Restored, numbers, numbers)
shares = st.floats(0, 1)
sizes = st.builds(Size, numbers, texts)
program_sessions = st.builds(ProgramSession, texts, texts, texts)
passages = st.builds(TranscriptRange, texts, texts, numbers)
pins = st.builds(Pin, texts, texts, texts)


def any_event() -> st.SearchStrategy[Event]:
    """Any event there can be."""
    workspaces = st.builds(Workspace, texts, texts, texts)
    settings = st.builds(
        Settings, texts, texts, numbers, shares, numbers, numbers, st.tuples(shares, shares, shares)
    )
    changes = st.builds(SettingsChange, model=texts, cap=numbers, low_water=shares)
    return st.one_of(
        st.builds(
            AgentStarted,
            st.sampled_from(["person", "fork", "succession"]),
            texts,
            settings,
            workspaces,
            st.lists(pins, max_size=2).map(tuple),
            st.none() | agents,
            texts,
            contexts,
        ),
        st.builds(AgentForked, agents, texts, prompts, st.booleans()),
        st.builds(AgentArchived, st.none() | agents),
        st.builds(AgentUnarchived),
        st.builds(AgentRenamed, texts),
        st.builds(AgentTagged, st.builds(Tags, texts, st.lists(texts, max_size=2).map(tuple))),
        st.builds(FileAdded, st.builds(File, texts, texts, texts)),
        st.builds(AgentKilled, agents, st.none() | agents),
        st.builds(SettingsChanged, changes),
        st.builds(PinAdded, pins),
        st.builds(PinRemoved, texts),
        st.builds(
            InstructionsRead,
            st.lists(st.builds(InstructionText, texts, texts), max_size=2).map(tuple),
        ),
        st.builds(Focused, texts, numbers),
        st.builds(NoteDeclared, st.sampled_from(get_args(NoteKind)), texts, numbers),
        st.builds(
            SessionJudged,
            texts,
            st.lists(
                st.builds(
                    JudgedStretch,
                    numbers,
                    numbers,
                    st.sampled_from(get_args(JudgedStatus)),
                    numbers,
                    numbers,
                ),
                max_size=2,
            ).map(tuple),
            st.lists(
                st.builds(
                    JudgedSentence, texts, st.sampled_from(get_args(JudgedKind)), texts, texts
                ),
                max_size=2,
            ).map(tuple),
        ),
        st.builds(Unfocused, texts),
        st.builds(TurnStarted, st.none() | turn_refs, prompts),
        st.builds(TurnLeased, st.builds(Lease, texts, numbers)),
        st.builds(ModelCalled, texts, contexts, texts, numbers, texts, texts, numbers),
        st.builds(CallReported, texts, numbers, texts, numbers, texts, texts),
        st.builds(ReplyAdded, parts, texts, st.none() | usages, endings),
        st.builds(ReplyStreamed, parts),
        st.builds(QuestionAsked, texts, texts, texts, texts, texts),
        st.builds(QuestionAnswered, texts, st.booleans(), texts),
        st.builds(ReplyLost, parts, texts, numbers, numbers),
        st.builds(ToolStarted, texts),
        st.builds(ToolFinished, texts, texts, st.booleans(), texts, texts),
        st.builds(TurnCompleted, sizes),
        st.builds(TurnInterrupted, sizes, texts),
        st.builds(TurnFailed, sizes, texts),
        st.builds(TurnRecorded, st.none() | turn_refs, prompts, items, sizes, reason=texts),
        st.builds(MarkSet, texts, st.none() | numbers, st.none() | texts),
        st.builds(ContextTrimmed, st.just("window"), st.none() | turn_refs, mask=masks),
        st.builds(ContextSummarized, texts, texts, st.none() | shares),
        st.builds(SummaryDropped, texts, usages, texts),
        st.builds(ContextRewound, texts, numbers, contexts, texts),
        st.builds(ContextCut, layers, texts, numbers, numbers, note=texts),
        st.builds(ContextRestored, layers, texts, numbers, numbers),
        st.builds(
            DropDeferred,
            st.lists(st.builds(TurnPlace, numbers, numbers, numbers, texts), max_size=2).map(tuple),
            st.booleans(),
        ),
        st.builds(ContextUndone, contexts),
        st.builds(ContextRedone, contexts),
        st.builds(ResultsMasked, masks),
        st.builds(
            ClearDeferred, st.none() | texts, numbers, st.none() | numbers, texts, st.booleans()
        ),
        st.builds(CheckpointMade, saved, numbers, st.sampled_from(["before", "after"]), numbers),
        st.builds(CheckpointMissed, texts, numbers, numbers),
        st.builds(RevertStarted, saved, destinations, numbers),
        st.builds(ContextReverted, destinations, contexts, saved, restored, numbers),
        st.builds(MailSent, texts, agents, texts),
        st.builds(MailReceived, texts, texts, texts),
        st.builds(MailRead, st.lists(texts, max_size=3).map(tuple), st.booleans()),
        st.builds(WordsErased, agents),
        st.builds(
            SessionSynced,
            program_sessions,
            texts,
            contexts,
            st.lists(texts, max_size=2).map(tuple),
            texts,
            texts,
        ),
        st.builds(NativeRecorded, st.builds(NativeRows, program_sessions, passages, texts, texts)),
        st.builds(SessionDiffered, texts),
    )
