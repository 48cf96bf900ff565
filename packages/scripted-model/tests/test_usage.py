"""Token usage follows from the request and from earlier requests."""

import pytest

from http_client import Tree, fetch, path_of, request_of
from scripted_model import ScriptedModel
from scripted_model.prompt_cache import BreakpointCache, PrefixCache
from scripted_model.usage import Segment

RULES = "Always answer in rhyme. " * 400  # about 2,400 tokens
MARK: Tree = {"type": "ephemeral"}
HOUR: Tree = {"type": "ephemeral", "ttl": "1h"}


def text(words: str, mark: Tree | None = None) -> Tree:
    block: Tree = {"type": "text", "text": words}
    return block if mark is None else {**block, "cache_control": mark}


def claude(*messages: Tree, system: list[Tree] | None = None, **more: object) -> Tree:
    given: Tree = {} if system is None else {"system": system}
    return {
        "model": "claude-opus-5-5",
        "max_tokens": 100,
        "messages": list(messages),
        **given,
        **more,
    }


def user(*blocks: Tree) -> Tree:
    return {"role": "user", "content": list(blocks)}


def model(*blocks: Tree) -> Tree:
    return {"role": "assistant", "content": list(blocks)}


def spent(server: ScriptedModel, body: Tree) -> tuple[int, int, int]:
    """Returns tokens written to the cache, read from it, and neither."""
    usage = fetch(server, "/v1/messages", body).json["usage"]
    return (
        usage["cache_creation_input_tokens"],
        usage["cache_read_input_tokens"],
        usage["input_tokens"],
    )


def test_without_breakpoints_nothing_is_cached(server: ScriptedModel) -> None:
    body = claude(user(text(RULES)))
    assert [spent(server, body)[:2] for _ in range(2)] == [(0, 0), (0, 0)]


def test_a_prefix_is_written_once_and_then_read(server: ScriptedModel) -> None:
    system = [text(RULES, MARK)]
    written, read, fresh = spent(server, claude(user(text("one")), system=system))
    assert (written > 2000, read, fresh < 20) == (True, 0, True)
    assert spent(server, claude(user(text("two")), system=system)) == (0, written, fresh)


def test_a_breakpoint_that_moves_on_extends_the_cache(server: ScriptedModel) -> None:
    system = [text(RULES, MARK)]
    first = claude(user(text("a" * 400, MARK)), system=system)
    later = claude(
        user(text("a" * 400)), model(text("b" * 400)), user(text("c" * 400, MARK)), system=system
    )
    written, _, _ = spent(server, first)
    more, read, fresh = spent(server, later)
    assert read == written
    assert 200 < more < 300
    assert fresh == 0 or fresh == 1
    assert spent(server, later)[:2] == (0, written + more)


def test_text_alone_and_a_block_of_text_are_the_same(server: ScriptedModel) -> None:
    spent(server, claude(user(text(RULES, MARK))))
    alone: Tree = {"role": "user", "content": RULES}
    _, read, _ = spent(server, claude(alone, model(text("b")), user(text("c", MARK))))
    assert read > 2000


def test_any_change_before_a_breakpoint_is_a_miss(server: ScriptedModel) -> None:
    spent(server, claude(user(text("hi")), system=[text(RULES, MARK)]))
    changed = claude(user(text("hi")), system=[text(f"{RULES}!", MARK)])
    assert spent(server, changed)[1] == 0
    other = {**claude(user(text("hi")), system=[text(RULES, MARK)]), "model": "claude-other-5"}
    assert spent(server, other)[1] == 0


def test_a_change_of_thinking_keeps_the_cache_of_the_system_prompt(server: ScriptedModel) -> None:
    body = claude(user(text("x" * 400, MARK)), system=[text(RULES, MARK)])
    written, _, _ = spent(server, body)
    again, read, _ = spent(server, {**body, "thinking": {"type": "adaptive"}})
    assert 2000 < read < written
    assert read + again == written


def test_a_short_prefix_is_not_cached() -> None:
    body = claude(user(text("x" * 400, MARK)))
    with ScriptedModel() as server:
        assert [spent(server, body)[:2] for _ in range(2)] == [(0, 0), (0, 0)]
    with ScriptedModel(cache_minimum=0) as server:
        (written, _, _), (_, read, _) = spent(server, body), spent(server, body)
        assert written == read > 0


def test_one_hour_writes_are_counted_separately(server: ScriptedModel) -> None:
    body = claude(user(text("y" * 800, MARK)), system=[text(RULES, HOUR)])
    usage = fetch(server, "/v1/messages", body).json["usage"]
    kinds = usage["cache_creation"]
    assert kinds["ephemeral_1h_input_tokens"] > 2000
    assert 200 < kinds["ephemeral_5m_input_tokens"] < 250
    assert sum(kinds.values()) == usage["cache_creation_input_tokens"]


def test_read_written_and_uncached_tokens_add_up(server: ScriptedModel) -> None:
    body = claude(user(text("one", MARK), text("two")), system=[text(RULES, MARK)])
    counted = fetch(
        server, "/v1/messages/count_tokens", {k: v for k, v in body.items() if k != "max_tokens"}
    ).json["input_tokens"]
    assert sum(spent(server, body)) == sum(spent(server, body)) == counted


def test_scripted_usage_keeps_the_proportions(server: ScriptedModel) -> None:
    def body(prompt: str) -> Tree:
        return claude(user(text(prompt)), system=[text(RULES, MARK)])

    spent(server, body("one"))
    written, read, fresh = spent(server, body("[[usage: 100000]] two"))
    assert written + read + fresh == 100_000
    assert read > 95_000


def cached_tokens(wire: str, got: Tree) -> int:
    if wire == "gemini":
        return got["usageMetadata"].get("cachedContentTokenCount", 0)
    details = "prompt_tokens_details" if wire == "chat" else "input_tokens_details"
    return got["usage"][details]["cached_tokens"]


@pytest.mark.parametrize("wire", ["chat", "responses", "gemini"])
def test_the_longest_common_prefix_is_read(server: ScriptedModel, wire: str) -> None:
    def read(prompt: str) -> int:
        return cached_tokens(wire, fetch(server, path_of(wire), request_of(wire, prompt)).json)

    assert read(RULES + "one") == 0
    reads = read(RULES + "two")
    assert reads >= 2304
    assert reads % 128 == 0
    assert read("No. " + RULES) == 0
    half = RULES[: len(RULES) // 2]
    assert 1024 <= read(half + "something else " * 400) < reads
    assert read("short") == read("short") == 0


def test_requests_of_different_cache_keys_share_nothing(server: ScriptedModel) -> None:
    def read(key: str) -> int:
        body = request_of("responses", RULES, prompt_cache_key=key)
        usage = fetch(server, "/v1/responses", body).json["usage"]
        return usage["input_tokens_details"]["cached_tokens"]

    assert [read("a"), read("b")] == [0, 0]
    assert read("a") > 2000


def test_a_failed_request_fills_no_cache(server: ScriptedModel) -> None:
    body = claude(user(text("[[status: 529 x1]] [[say: ok]]")), system=[text(RULES, MARK)])
    assert fetch(server, "/v1/messages", body).status == 529
    assert spent(server, body)[1] == 0


def test_cache_entries_expire() -> None:
    marked, prefixes = BreakpointCache(minimum=1), PrefixCache(minimum=1)
    turn = [Segment(b"x" * 4000, "5m")]
    for cache, lifetime in ((marked, 300), (prefixes, 600)):
        reads = [cache.record("m", turn, at).cache_read for at in (0, 1, 2 + 2 * lifetime)]
        assert [read > 0 for read in reads] == [False, True, False]


def test_reading_extends_a_cache_entry() -> None:
    cache = BreakpointCache(minimum=1)
    turn = [Segment(b"x" * 4000, "5m")]
    reads = [cache.record("m", turn, at).cache_read for at in (0, 250, 500, 750)]
    assert [read > 0 for read in reads] == [False, True, True, True]


def test_a_breakpoint_finds_writes_up_to_twenty_blocks_back() -> None:
    def read(blocks: int) -> int:
        cache = BreakpointCache(minimum=1)
        front = [Segment(b"x" * 400, "5m")]
        cache.record("m", front, 0)
        middle = [Segment(b"y" * 40) for _ in range(blocks - 1)]
        return cache.record(
            "m", [Segment(b"x" * 400), *middle, Segment(b"z" * 40, "5m")], 1
        ).cache_read

    assert read(20) == 100
    assert read(21) == 0
