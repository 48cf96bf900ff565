// A whole story with types that are generated from the API. Prints `ok …` or `NO …` for each check.
import createClient from "openapi-fetch";
import type { components, paths } from "./build/api.js";

type Event = components["schemas"]["Event"];
declare const process: { argv: string[]; exit(code: number): never };
const [address, token] = process.argv.slice(2) as [string, string];
const headers = { Authorization: `Bearer ${token}` };
const client = createClient<paths>({ baseUrl: address, headers });
const check = (holds: boolean, what: string) => console.log(`${holds ? "ok" : "NO"} ${what}`);

/** The value of an answer that must be there. */
function value<T>(answer: { data?: T; error?: { detail: string } }): T {
  if (answer.data === undefined) throw new Error(answer.error?.detail ?? "no answer");
  return answer.data;
}

/** Follows the stream of an agent up to the first event of a kind: its id, and all events. */
async function until(agent: string, after: string, kind: Event["kind"]): Promise<[string, Event[]]> {
  const stop = new AbortController();
  const { response } = await client.GET("/v1/agents/{agent}/events", {
    params: { path: { agent }, header: { "Last-Event-ID": after } },
    parseAs: "stream",
    signal: stop.signal,
  });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const found: Event[] = [];
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`the stream ended before ${kind}`);
    text += value;
    const messages = text.split("\n\n");
    text = messages.pop()!;
    for (const message of messages) {
      const fields = new Map(message.split("\n").map((line) => line.split(/: (.*)/s, 2) as [string, string]));
      const event = fields.get("event");
      if (!event || event === "delta") continue;
      found.push(JSON.parse(fields.get("data")!) as Event);
      if (event === kind) {
        stop.abort();
        return [fields.get("id")!, found];
      }
    }
  }
}

const start = { name: "story", owner: "u7", labels: ["proof"] };
const once = { header: { "Idempotency-Key": "start" } };
const { agent } = value(await client.POST("/v1/agents", { body: start, params: once }));
const again = value(await client.POST("/v1/agents", { body: start, params: once }));
check(again.agent === agent, "a key acts once");
const path = { agent };

const prompt = (text: string) => client.POST("/v1/agents/{agent}/turns", { params: { path }, body: { text } });
check(value(await prompt("Where do herons nest? [[say: In trees.]]")).answer.agent === agent, "a prompt is sent");
let [place, events] = await until(agent, "0", "turn.completed");
const reply = events.find((event) => event.kind === "reply.added");
check(JSON.stringify(reply?.data).includes("In trees."), "the stream has the reply, typed");

value(await prompt('Go. [[tool: shell {"command": "touch made"}]] [[say: Done.]]'));
[place, events] = await until(agent, place, "question.asked");
check(!JSON.stringify(events).includes("In trees."), "a resumed stream has only what is new");
const [question] = value(await client.GET("/v1/agents/{agent}/permissions", { params: { path } })).questions;
check(question?.question.tool === "shell", "a tool call waits for approval");
const allow = question!.choices.find((choice) => choice.allows)!;
const answered = value(
  await client.POST("/v1/agents/{agent}/permissions/{question}", {
    params: { path: { agent, question: question!.id } },
    body: { key: allow.key, hash: question!.hash },
  }),
);
check(answered.message === "Allowed.", "and is allowed");
[place] = await until(agent, place, "turn.completed");

const forked = value(await client.POST("/v1/agents/{agent}/commands/fork", { params: { path }, body: {} }));
check(forked.answer.type === "Forked" && forked.answer.child !== agent, "a fork has a child");
const dropped = value(await client.POST("/v1/agents/{agent}/commands/drop", { params: { path }, body: { args: "1" } }));
check(dropped.events.length > 0, "a turn is dropped");
const undone = value(await client.POST("/v1/agents/{agent}/commands/undo", { params: { path }, body: {} }));
check(undone.message.startsWith("Undone"), "the drop is undone");
const rows = value(await client.GET("/v1/agents/{agent}/rows", { params: { path } }));
check(rows.rows.length > 0 && rows.rows.every((row) => row.in_context), "every row is in view again");

const versions: number[] = [];
let after: number | null = 0;
while (after !== null) {
  const page: { events: { version: number }[]; next: number | null } = value(
    await client.GET("/v1/agents/{agent}/log", { params: { path, query: { after, limit: 5 } } }),
  );
  versions.push(...page.events.map((event) => event.version));
  after = page.next;
}
check(versions.every((version, index) => version === index + 1), "the log is read page by page");
const listed = value(await client.GET("/v1/agents", { params: { query: { owner: "u7" } } }));
check(listed.agents.length > 0, "agents of an owner are listed");

const misspelt = await client.POST("/v1/agents", { body: { nme: "x" } });
check(misspelt.error?.status === 422, "an unknown field is refused");
const erased = value(await client.DELETE("/v1/agents/{agent}", { params: { path } }));
check(erased.agents === 2, "both are erased");
const gone = await client.GET("/v1/agents/{agent}", { params: { path } });
check(gone.error?.status === 404, "and are gone");
process.exit(0);
