"""LangGraph's SQLite checkpointer: with its usual message channel and with the delta channel.

Runs in the peers' environment, so our type checker leaves this file out.

Each checkpoint of the usual channel stores all messages so far, so the whole conversation would
take hours and tens of gigabytes if it were written turn by turn. So it grows in stages: a bulk
update up to a certain length, then a few measured turns. All of the last turns are measured.
"""

from contextlib import ExitStack
from importlib.metadata import version
from typing import Annotated, TypedDict

from conversation import conversation, turns
from figures import PeerFigures
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import _messages_delta_reducer, add_messages
from measurement import (
    LOADS,
    Task,
    durability,
    p50,
    parse_task,
    require_same,
    settled_bytes,
    stopwatch,
)

STAGES = 10
TURNS_A_STAGE = 5
LAST_TURNS = 50
FORKS = 5

NAMES = {"full": "SqliteSaver", "delta": "SqliteSaver, delta channel (beta)"}
THREAD = {"configurable": {"thread_id": "main"}}
NODE = "answer"


class FullState(TypedDict):
    messages: Annotated[list, add_messages]


class DeltaState(TypedDict):
    messages: Annotated[list, DeltaChannel(_messages_delta_reducer)]


def compile_graph(task, saver):
    graph = StateGraph(DeltaState if task.store == "delta" else FullState)
    graph.add_node(NODE, lambda _: {"messages": []})
    graph.add_edge(START, NODE)
    graph.add_edge(NODE, END)
    return graph.compile(checkpointer=saver)


def as_update(messages):
    kinds = {"user": HumanMessage, "assistant": AIMessage}
    return {"messages": [kinds[message.role](message.text) for message in messages]}


def texts(snapshot):
    return [message.text for message in snapshot.values["messages"]]


def measured_turns(turn_count):
    """The first and the last measured turn of each stage, in the middle of equal parts."""
    part = (turn_count - LAST_TURNS) // STAGES
    if part < TURNS_A_STAGE:
        raise ValueError(f"{turn_count} turns are too few to be measured in stages.")
    begins = [stage * part + (part - TURNS_A_STAGE) // 2 for stage in range(STAGES)]
    return [(begin, begin + TURNS_A_STAGE) for begin in begins]


def append_turns(graph, part, times):
    for turn in part:
        update = as_update(turn)
        with stopwatch(times):
            graph.update_state(THREAD, update, as_node=NODE)


def append_in_bulk(graph, part):
    graph.update_state(THREAD, as_update([m for turn in part for m in turn]), as_node=NODE)


def append(task, messages):
    """Times spread over the growth, times at the end, and the bytes that a last turn adds."""
    spread, last = [], []
    whole = turns(messages)
    done = 0
    with SqliteSaver.from_conn_string(str(task.file)) as saver:
        graph = compile_graph(task, saver)
        for begin, end in measured_turns(len(whole)):
            append_in_bulk(graph, whole[done:begin])
            append_turns(graph, whole[begin:end], spread)
            done = end
        append_in_bulk(graph, whole[done:-LAST_TURNS])
        before = settled_bytes(task.file)
        append_turns(graph, whole[-LAST_TURNS:], last)
    return spread, last, (settled_bytes(task.file) - before) // LAST_TURNS


def load(task, messages):
    times = []
    for _ in range(LOADS):
        with ExitStack() as stack:
            with stopwatch(times):
                saver = stack.enter_context(SqliteSaver.from_conn_string(str(task.file)))
                snapshot = compile_graph(task, saver).get_state(THREAD)
            require_same(messages, texts(snapshot))
    return times


def tip_of(task):
    with SqliteSaver.from_conn_string(str(task.file)) as saver:
        return compile_graph(task, saver).get_state(THREAD).config


def copy_tip(graph, tip, messages):
    """The cheapest fork: a copy of the last checkpoint, unchanged."""
    times = []
    for _ in range(FORKS):
        with stopwatch(times):
            branch = graph.update_state(tip, None, as_node="__copy__")
        require_same(messages, texts(graph.get_state(branch)))
    return times


def change_tip(graph, tip, messages):
    """The documented fork: an older checkpoint gets a successor with another value."""
    times = []
    with stopwatch(times):
        branch = graph.update_state(tip, as_update(messages[:1]), as_node=NODE)
    require_same([*messages, messages[0]], texts(graph.get_state(branch)))
    return times


def fork(task, messages, tip, way):
    """The times of forks and the bytes that one of them adds."""
    before = settled_bytes(task.file)
    with SqliteSaver.from_conn_string(str(task.file)) as saver:
        graph = compile_graph(task, saver)
        times = way(graph, tip, messages)
    return p50(times), (settled_bytes(task.file) - before) // len(times)


def remark(growth, fork_ms, fork_bytes):
    return (
        "one update_state a turn, where the run of a graph writes more checkpoints; grown by "
        f"{STAGES + 1} bulk updates and measured on {STAGES * TURNS_A_STAGE} turns between them "
        f"and on the last {LAST_TURNS}, which add {growth:,} bytes each, so the disk figure is far "
        "below that of every turn appended; forked by a copy of the last checkpoint, while the "
        f"documented fork with a changed value takes {fork_ms:,.0f} ms and {fork_bytes:,} bytes"
    )


def measure(task: Task) -> PeerFigures:
    messages = conversation(task.messages)
    spread, last, growth = append(task, messages)
    disk_bytes = settled_bytes(task.file)
    loads = load(task, messages)
    tip = tip_of(task)
    fork_ms, fork_bytes = fork(task, messages, tip, copy_tip)
    documented = fork(task, messages, tip, change_tip)
    return PeerFigures(
        name=f"LangGraph {NAMES[task.store]}",
        version=f"{version('langgraph')}/{version('langgraph-checkpoint-sqlite')}",
        messages=task.messages,
        append_p50_ms=p50(spread),
        append_last_p50_ms=p50(last),
        load_ms=p50(loads),
        fork_ms=fork_ms,
        fork_bytes=fork_bytes,
        disk_bytes=disk_bytes,
        durability=durability(task.file),
        remark=remark(growth, *documented),
    )


if __name__ == "__main__":
    print(measure(parse_task(__doc__, tuple(NAMES))).to_json())
