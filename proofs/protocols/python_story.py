"""A whole story with the generated Python client. Prints `ok …` or `NO …` for each check."""

import json
import sys
from collections.abc import Iterator

sys.path.insert(0, sys.argv[1])

from sapwood_client import AuthenticatedClient, models
from sapwood_client.api.agents import (
    delete_agents_agent,
    get_agents,
    get_agents_agent,
    get_agents_agent_context,
    get_agents_agent_log,
    get_agents_agent_permissions,
    get_agents_agent_rows,
    post_agents,
    post_agents_agent_permissions_question,
    post_agents_agent_turns,
)
from sapwood_client.api.commands import (
    post_agents_agent_commands_drop,
    post_agents_agent_commands_fork,
    post_agents_agent_commands_undo,
)

address, token = sys.argv[2:]
client = AuthenticatedClient(address, token, timeout=60, raise_on_unexpected_status=True)


def check(holds: bool, what: str) -> None:
    """Prints whether something holds."""
    print("ok" if holds else "NO", what)


def follow(agent: str, after: str) -> Iterator[tuple[str, str, str]]:
    """The messages of the stream of an agent after an id: id, event and data."""
    http = client.get_httpx_client()
    headers = {"Last-Event-ID": after}
    with http.stream("GET", f"/v1/agents/{agent}/events", headers=headers) as answer:
        fields: dict[str, str] = {}
        for line in answer.iter_lines():
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif fields:
                yield fields.get("id", ""), fields.get("event", ""), fields.get("data", "")
                fields = {}


def until(agent: str, after: str, kind: str) -> tuple[str, list[tuple[str, str]]]:
    """The messages up to the first of a kind, and its id."""
    found: list[tuple[str, str]] = []
    for place, event, data in follow(agent, after):
        found.append((event, data))
        if event == kind:
            return place, found
    raise AssertionError(f"the stream ended before {kind}")


made = post_agents.sync(
    client=client,
    body=models.StartBody(name="story", owner="u7", labels=["proof"]),
    idempotency_key="start",
)
assert isinstance(made, models.ConversationMade), made
agent = made.agent
again = post_agents.sync(
    client=client,
    body=models.StartBody(name="story", owner="u7", labels=["proof"]),
    idempotency_key="start",
)
check(isinstance(again, models.ConversationMade) and again.agent == agent, "a key acts once")

sent = post_agents_agent_turns.sync(
    agent, client=client, body=models.PromptBody(text="Where do herons nest? [[say: In trees.]]")
)
check(isinstance(sent, models.PromptSent), "a prompt is sent")
place, messages = until(agent, "0", "turn.completed")
replies = [json.loads(data) for event, data in messages if event == "reply.added"]
reply = models.ReplyAddedEvent.from_dict(replies[-1])
check("In trees." in json.dumps(reply.data.to_dict()), "the stream has the reply, typed")

text = 'Go. [[tool: shell {"command": "touch made"}]] [[say: Done.]]'
post_agents_agent_turns.sync(agent, client=client, body=models.PromptBody(text=text))
place, messages = until(agent, place, "question.asked")
check("In trees." not in str(messages), "a resumed stream has only what is new")
waiting = get_agents_agent_permissions.sync(agent, client=client)
assert isinstance(waiting, models.QuestionList), waiting
[question] = waiting.questions
check(question.question.tool == "shell", "a tool call waits for approval")
allow = next(each for each in question.choices if each.allows)
answered = post_agents_agent_permissions_question.sync(
    agent, question.id, client=client, body=models.AnswerBody(key=allow.key, hash_=question.hash_)
)
check(isinstance(answered, models.Done) and answered.message == "Allowed.", "and is allowed")
place, _ = until(agent, place, "turn.completed")

forked = post_agents_agent_commands_fork.sync(agent, client=client, body=models.CommandBody())
assert isinstance(forked, models.ForkDone), forked
assert isinstance(forked.answer, models.Forked), forked
check(forked.answer.child != agent, "a fork has a child")
dropped = post_agents_agent_commands_drop.sync(
    agent, client=client, body=models.CommandBody(args="1")
)
check(isinstance(dropped, models.DropDone) and bool(dropped.events), "a turn is dropped")
rows = get_agents_agent_rows.sync(agent, client=client)
assert isinstance(rows, models.RowList), rows
folds = [row.row for row in rows.rows if isinstance(row.row, models.Fold)]
check([fold.cause for fold in folds] == ["/drop 1"], "a fold stands for its rows")
undone = post_agents_agent_commands_undo.sync(agent, client=client, body=models.CommandBody())
check(isinstance(undone, models.UndoDone) and "Undone" in undone.message, "the drop is undone")
context = get_agents_agent_context.sync(agent, client=client)
check(isinstance(context, models.ContextReport), "the context is read")

versions: list[int] = []
after: int | None = 0
while after is not None:
    page = get_agents_agent_log.sync(agent, client=client, after=after, limit=5)
    assert isinstance(page, models.EventList), page
    versions += [each.version for each in page.events]
    after = page.next_
check(versions == list(range(1, len(versions) + 1)), "the log is read page by page")
listed = get_agents.sync(client=client, owner="u7")
check(isinstance(listed, models.AgentList) and len(listed.agents) > 0, "agents of an owner")

misspelt = client.get_httpx_client().post("/v1/agents", json={"nme": "x"})
problem = models.ProblemDocument.from_dict(misspelt.json())
check(problem.status == 422 and "nme" in problem.detail, "an unknown field is refused")
erased = delete_agents_agent.sync(agent, client=client)
check(isinstance(erased, models.ErasureDone) and erased.agents == 2, "both are erased")
gone = get_agents_agent.sync(agent, client=client)
check(isinstance(gone, models.ProblemDocument) and gone.status == 404, "and are gone")
