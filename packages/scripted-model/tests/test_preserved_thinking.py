"""Compaction on demand and preserved thinking, through Anthropic's own library."""

from typing import Any

import pytest

from client_libraries import library
from http_client import Tree
from scripted_model import ScriptedModel, think

anthropic = library("anthropic", "anthropic.types.beta.beta_compaction_config_param")

MODEL = "claude-opus-5-5"
COMPACT, BIND = "compact-2026-09-04", "thinking-binding-controls-2026-08-01"
SUMMARIZE = {"type": "summarize", "instructions": "Keep names."}
DROP = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
ERROR = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"}}


def send(server: ScriptedModel, messages: list[Tree], *betas: str, **more: Any) -> Any:
    with anthropic.Anthropic(base_url=server.anthropic_url, api_key="x", max_retries=0) as client:
        return client.beta.messages.create(
            model=more.pop("model", MODEL),
            max_tokens=4_000,
            messages=messages,
            betas=[*betas] or [COMPACT, BIND],
            **more,
        )


def user(text: str) -> Tree:
    return {"role": "user", "content": text}


def talked(server: ScriptedModel, turns: int = 3, **more: Any) -> list[Tree]:
    """A conversation whose replies all have thinking."""
    messages: list[Tree] = []
    for turn in range(turns):
        server.replies([[think(f"Thought {turn}."), f"Answer {turn}."]])
        messages.append(user(f"Question {turn}?"))
        reply = send(server, messages, thinking=DROP, **more)
        assert reply.input_transformations == []
        messages.append({"role": "assistant", "content": [b.to_dict() for b in reply.content]})
    return messages


def summary(server: ScriptedModel, messages: list[Tree]) -> Any:
    server.replies(["They talked."])
    return send(server, messages, compaction=SUMMARIZE)


def block(reply: Any) -> Tree:
    return reply.content[0].to_dict()


def test_a_summary_comes_alone_and_its_tokens_are_an_iteration(server: ScriptedModel) -> None:
    reply = summary(server, talked(server))
    assert reply.stop_reason == "compaction"
    assert [part.type for part in reply.content] == ["compaction"]
    assert reply.content[0].content == "They talked."
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (0, 0)
    assert reply.usage.iterations[0].output_tokens > 0


def test_a_summary_streams_whole(server: ScriptedModel) -> None:
    server.replies(["They talked."])
    client = anthropic.Anthropic(base_url=server.anthropic_url, api_key="x")
    asked: Tree = {"model": MODEL, "max_tokens": 4_000, "messages": [user("Hello.")]}
    wanted: Tree = {"compaction": SUMMARIZE, "betas": [COMPACT]}
    with client, client.beta.messages.stream(**asked, **wanted) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_message()
    assert "content_block_delta" not in kinds
    assert final.content[0].signature


@pytest.mark.parametrize("alone", [True, False])
def test_thinking_after_a_signed_summary_stays_valid(server: ScriptedModel, *, alone: bool) -> None:
    messages = talked(server)
    signed = block(summary(server, messages[:4]))
    if alone:
        kept = [{"role": "assistant", "content": [signed]}, *messages[4:]]
    else:
        text = {"type": "text", "text": messages[4]["content"]}
        kept = [{"role": "user", "content": [signed, text]}, *messages[5:]]
    reply = send(server, [*kept, user("And now?")], thinking=ERROR)
    assert reply.input_transformations == []


def test_thinking_is_dropped_if_anything_before_it_changed(server: ScriptedModel) -> None:
    messages = talked(server)
    shorter = [*messages[2:], user("And now?")]
    reply = send(server, shorter, thinking=DROP)
    assert [(each.type, each.reason) for each in reply.input_transformations] == [
        ("thinking_dropped", "prefix_binding_mismatch")
    ] * 2
    assert reply.input_transformations[0].path == "messages.1.content.0"
    other = send(server, [*messages, user("And now?")], thinking=DROP, system="Be brief.")
    assert len(other.input_transformations) == 3
    allowed = send(server, shorter, BIND)
    assert {each.type for each in allowed.input_transformations} == {"thinking_mismatch_allowed"}
    with pytest.raises(anthropic.BadRequestError, match="bound to a different conversation"):
        send(server, shorter, thinking=ERROR)


def test_an_older_model_does_not_read_bound_thinking(server: ScriptedModel) -> None:
    messages = [*talked(server, 1), user("And now?")]
    reply = send(server, messages, model="claude-opus-5")
    assert [each.reason for each in reply.input_transformations] == ["model_binding_mismatch"]


def test_a_text_between_summary_and_kept_turns_invalidates_thinking(server: ScriptedModel) -> None:
    messages = talked(server)
    signed = block(summary(server, messages[:4]))
    facts = {"type": "text", "text": "Facts."}
    asked = {"type": "text", "text": messages[4]["content"]}
    kept = [{"role": "user", "content": [signed, facts, asked]}, *messages[5:], user("Now?")]
    assert len(send(server, kept, thinking=DROP).input_transformations) == 1


@pytest.mark.parametrize(
    ("before", "change", "code"),
    [
        ([{"type": "text", "text": "a"}], {}, "misplaced"),
        ([], {"content": "No."}, "content_mismatch"),
        ([], {"signature": "eA=="}, "signature_invalid"),
    ],
)
def test_a_changed_summary_is_rejected(
    server: ScriptedModel, before: list[Tree], change: Tree, code: str
) -> None:
    signed = {**block(summary(server, talked(server))), **change}
    with pytest.raises(anthropic.BadRequestError) as caught:
        send(server, [{"role": "user", "content": [*before, signed]}, user("And now?")])
    assert caught.value.body["error"]["details"]["error_code"].endswith(code)


def test_a_second_summary_is_rejected(server: ScriptedModel) -> None:
    signed = block(summary(server, talked(server)))
    with pytest.raises(anthropic.BadRequestError, match="more than one"):
        send(server, [{"role": "user", "content": [signed, signed]}, user("And now?")])


@pytest.mark.parametrize(
    "more",
    [
        {"compaction": {"type": "other"}},
        {"compaction": {**SUMMARIZE, "instructions": "x" * 16_385}},
        {"stop_sequences": ["X"]},
        {"context_management": {"edits": []}},
        {"model": "claude-haiku-5-5"},
        {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}},
    ],
)
def test_what_does_not_go_with_a_summary_is_rejected(server: ScriptedModel, more: Any) -> None:
    with pytest.raises(anthropic.BadRequestError):
        send(server, [user("Hello.")], **{"compaction": SUMMARIZE, **more})


def test_a_summary_needs_its_beta(server: ScriptedModel) -> None:
    with pytest.raises(anthropic.BadRequestError, match="Extra inputs"):
        send(server, [user("Hello.")], "compact-2026-01-12", compaction=SUMMARIZE)


def test_a_summary_that_was_cut_off_does_not_come(server: ScriptedModel) -> None:
    with anthropic.Anthropic(base_url=server.anthropic_url, api_key="x") as client:
        reply = client.beta.messages.create(
            model=MODEL,
            max_tokens=2,
            messages=[user("Hello.")],
            compaction=SUMMARIZE,
            betas=[COMPACT],
        )
    assert (reply.content, reply.stop_reason) == ([], "max_tokens")
