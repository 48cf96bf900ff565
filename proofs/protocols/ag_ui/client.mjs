// Runs a thread with the real AG-UI client. Prints `ok …` or `NO …` for each check.
import { HttpAgent } from "@ag-ui/client";

const [address, token] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${token}` };
const check = (holds, what) => console.log(`${holds ? "ok" : "NO"} ${what}`);
const user = (content) => ({ id: crypto.randomUUID(), role: "user", content });
const weather = {
  name: "weather",
  description: "Says what the weather is.",
  parameters: { type: "object", properties: { city: { type: "string" } } },
};

async function run(agent, options = {}) {
  const events = [];
  const result = await agent.runAgent(options, { onEvent: ({ event }) => void events.push(event) });
  return { events, ...result };
}

const agent = new HttpAgent({ url: `${address}/ag-ui`, headers, threadId: "proof" });
agent.addMessage(user("Where do herons nest? [[think: Hm.]] [[say: In trees.]]"));
const first = await run(agent);
const types = first.events.map((event) => event.type);
check(types[0] === "RUN_STARTED" && types.at(-1) === "RUN_FINISHED", "a run starts and finishes");
check(types.includes("REASONING_MESSAGE_CONTENT"), "thoughts arrive as reasoning");
check(agent.messages.at(-1).content === "In trees.", "the reply becomes a message of the client");
check(agent.state.sapwood?.turns === 1, "the state has the context");

agent.addMessage(user('Cold? [[tool: weather {"city": "Oslo"}]] [[say: Yes.]]'));
await run(agent, { tools: [weather] });
const call = agent.messages.at(-1).toolCalls?.[0];
check(call?.function.name === "weather", "the model calls a tool of the client");
check(JSON.parse(call.function.arguments).city === "Oslo", "with its arguments");
agent.addMessage({ id: crypto.randomUUID(), role: "tool", toolCallId: call.id, content: "-3" });
await run(agent, { tools: [weather] });
check(agent.messages.at(-1).content === "Yes.", "the result reaches the model");

const id = agent.state.sapwood.agent;
const cleared = await fetch(`${address}/v1/agents/${id}/commands/clear`, {
  method: "POST",
  headers: { ...headers, "Content-Type": "application/json" },
  body: JSON.stringify({ args: "1" }),
});
check(cleared.ok, "the conversation is trimmed");
agent.addMessage(user("What is left? [[say: Only the weather.]]"));
await run(agent);
check(agent.messages.at(-1).content === "Only the weather.", "the client goes on after the trim");

const wrong = new HttpAgent({ url: `${address}/ag-ui`, headers: {}, threadId: "nobody" });
wrong.addMessage(user("Hello."));
const refused = await run(wrong).then(() => "", (error) => String(error));
check(refused.includes("401"), "a run without a token is refused");

agent.addMessage(user("Fail. [[status: 400]]"));
const failed = await run(agent).catch(() => ({ events: [{ type: "RUN_ERROR" }] }));
check(failed.events.some((event) => event.type === "RUN_ERROR"), "a failed turn is an error of the run");
process.exit(0);
