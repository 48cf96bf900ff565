"""The scripted conversations in the pictures."""

from sapwood.api import Agent, Sapwood
from sapwood.core.commands import Fork
from sapwood.core.content import RecordedReply, RecordedResult, Text, ToolCall, Usage
from sapwood.core.ids import AgentId

MODEL = "claude-sonnet-5-5"
_FILE = """class TokenStore:
    async def load(self) -> Token | None:
        raw = await self.keychain.get("token")
        return Token.model_validate_json(raw) if raw else None
    async def clear(self) -> None:
        await self.keychain.delete("token")
"""
_LINES = (
    "async def exchange(self, grant: Grant, verifier: str) -> Token:",
    '    response = await self.http.post("/token", data=grant.as_form(verifier))',
    "    if response.status_code != 200:",
    "        raise ExchangeFailed(response.status_code, response.text)",
    "    token = Token.model_validate(response.json())",
    "    await self.store.save(token)",
    "    return token",
)
_LOG = (
    "[webpack] chunk vendors: 412 modules, source map written in 21.4 s",
    "[webpack] chunk checkout: 88 modules, source map written in 9.8 s",
    "[jenkins] cache of node_modules: miss",
)
ANSWER = """### Why the session drops

A **401** on refresh clears the storage before the retry can use it. The refresh must go first:

```python
async def refresh(self, grant: Grant) -> Token:
    response = await self.http.post("/token", data=grant.as_form())
    if response.status_code == 401 and grant.retries < 3:
        return await self.refresh(grant.next())
    return Token.model_validate(response.json())
```

- keep the verifier until the exchange *completes*
- test it with the clock frozen
"""
CHANGE = """--- src/auth/tokens.py
+++ src/auth/tokens.py
@@ -41,6 +41,8 @@
     async def refresh(self, grant: Grant) -> Token:
         response = await self.http.post("/token", data=grant.as_form())
-        if response.status_code == 401:
-            await self.storage.clear()
+        if response.status_code == 401 and grant.retries < 3:
+            return await self.refresh(grant.next())
         return Token.model_validate(response.json())
"""
_SYSTEM = (
    "You are a careful engineer in a small team. Read before you write, say what you are not "
    "sure of, and never claim a test that you did not run."
)
_OLD = (
    (
        "What does the mobile client need?",
        "PKCE, a refresh token, and storage that survives a restart.",
    ),
    ("Which expiry?", "Fifteen minutes for the access token; thirty days for the refresh token."),
    ("Where is the verifier kept?", "In the keychain, until the exchange has completed."),
)


_NEW = (
    (
        "Split the OAuth client into a token store and a transport.",
        "src/auth/oauth.py",
        900,
        "Done: `TokenStore` keeps the OAuth tokens, `Transport` asks; nothing else knows the "
        "keychain. The old client is gone, and its eleven tests moved with it.",
    ),
    (
        "btw, why is the webpack build so slow on Jenkins?",
        "ci/webpack.log",
        500,
        "Source maps: webpack writes them for every chunk, and Jenkins keeps no webpack cache.",
    ),
    (
        "Does any OAuth call block the event loop?",
        "src/auth/keychain.py",
        400,
        "One: reading the OAuth tokens from the keychain on start. It now runs in a thread.",
    ),
)


async def oauth(db: Sapwood, *, window: int = 120_000) -> Agent:
    """A day's work on a login: compacted once, marked, with tools, a child and its mail."""
    agent = await db.start("OAuth for mobile", id="k3h7wq2mzp", model=MODEL, cap=0)
    await agent.configure(window=window, system=_SYSTEM)
    await agent.pin("style", "Small functions, no new dependencies, tests beside the code.")
    for question, answer in _OLD * 2:
        await agent.record(
            question, RecordedReply((Text(f"{answer} " * 6),), MODEL, Usage(900, 60, 0, 0, 4_000))
        )
    await agent.compact(
        "OAuth with **PKCE** for the mobile client. Decided: access 15 minutes, refresh 30 days, "
        "verifier in the keychain.\n\n- Changed: `src/auth/oauth.py`\n- Open: refresh offline",
        ledger="changed src/auth/oauth.py\nran just test: passed",
        score=0.94,
    )
    await agent.mark("BEFORE_REFACTOR")
    for number, (question, path, lines, answer) in enumerate(_NEW):
        await _look(agent, f"n{number}", question, path, lines, answer)
    await agent.mark("RESUME_BUG")
    await _investigate(agent)
    await _children(db, agent)
    return agent


async def _look(agent: Agent, call: str, question: str, path: str, lines: int, answer: str) -> None:
    source = _LOG if path.endswith(".log") else _LINES
    content = "\n".join(f"{line}: {source[line % len(source)]}" for line in range(1, lines))
    await agent.record(
        question,
        RecordedReply((ToolCall(call, "read_file", f'{{"path": "{path}"}}'),), MODEL),
        RecordedResult(call, content),
        RecordedReply((Text(answer),), MODEL, Usage(21_100, 70, 18_800, 0, 30_000)),
    )


async def _investigate(agent: Agent) -> None:
    read = ToolCall("c1", "read_file", '{"path": "src/auth/tokens.py"}')
    test = ToolCall("c2", "shell", '{"command": "just test tests/auth"}')
    await agent.record(
        "The OAuth session drops after a resume. Why?",
        RecordedReply((Text("I read the token store first, then run its tests."), read), MODEL),
        RecordedResult("c1", _FILE),
        RecordedReply((test,), MODEL),
        RecordedResult(
            "c2",
            "FAILED tests/auth/test_tokens.py::test_refresh_after_resume\n1 failed, 11 passed",
            error=True,
        ),
        RecordedReply((Text(ANSWER),), MODEL, Usage(32_400, 148, 31_900, 0, 49_000)),
    )


async def _children(db: Sapwood, agent: Agent) -> None:
    child = Agent(db.connection, AgentId("q7xk2m9ddf"))
    await agent.do(Fork(agent.id, child.id, None, "", name="pkce-tests"))
    await child.record("Write the tests for PKCE.", "Eleven tests, all green. " * 8)
    other = Agent(db.connection, AgentId("t5wz8c4nnb"))
    await agent.do(Fork(agent.id, other.id, None, "", name="perf-debug"))
    await other.kill()
    await child.send(agent, "PKCE tests are green: 11 passed.")
