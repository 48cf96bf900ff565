// Installed by Sapwood: calls its hooks when something happens in pi, and offers its commands.
// A hook that fails or takes too long changes nothing.
import { spawn } from "node:child_process";

const SAPWOOD = ["sapwood"];
const MILLISECONDS = 5000;
const COMMANDS = {
  undo: "Undo the last compaction or Sapwood command on this session",
  redo: "Redo the last undone command",
  clear: "Trim this session: everything, all but the last N turns, or to a mark",
  rewind: "Rewind this session to a mark or a turn",
  bring: "Bring single turns back that left the view",
  mark: "Set a mark to which this session can be rewound",
};

function run(words, ctx, given = "") {
  return new Promise((done) => {
    const env = { ...process.env, PI_SESSION_ID: ctx.sessionManager.getSessionId() };
    const options = { cwd: ctx.cwd, env, stdio: ["pipe", "pipe", "pipe"], timeout: MILLISECONDS };
    const child = spawn(SAPWOOD[0], [...SAPWOOD.slice(1), ...words], options);
    let printed = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (piece) => (printed += piece));
    child.on("error", () => done(""));
    child.on("close", () => done(printed.trim()));
    child.stdin.on("error", () => {});
    child.stdin.end(given);
  });
}

export default (pi) => {
  async function hook(name, ctx, fields = {}) {
    const transcript_path = ctx.sessionManager.getSessionFile();
    if (!transcript_path || process.env.SAPWOOD_NO_HOOKS) return;
    const session_id = ctx.sessionManager.getSessionId();
    const given = { session_id, transcript_path, cwd: ctx.cwd, ...fields };
    let answer = {};
    try {
      answer = JSON.parse(await run(["hook", name], ctx, JSON.stringify(given)));
    } catch {
      return;
    }
    if (answer.systemMessage && ctx.hasUI) ctx.ui.notify(answer.systemMessage, "info");
    const content = answer.hookSpecificOutput?.additionalContext;
    return content && { customType: "sapwood", content, display: false };
  }
  pi.on("session_start", async (event, ctx) => {
    if (event.reason !== "new") await hook("session-start", ctx, { source: "resume" });
  });
  pi.on("session_before_compact", async (event, ctx) => {
    await hook("pre-compact", ctx, { trigger: event.reason });
  });
  pi.on("session_compact", async (_, ctx) => {
    const recap = await hook("session-start", ctx, { source: "compact" });
    if (recap) pi.sendMessage(recap);
  });
  pi.on("agent_settled", async (_, ctx) => {
    await hook("stop", ctx);
  });
  pi.on("session_shutdown", async (_, ctx) => {
    await hook("session-end", ctx);
  });
  for (const [name, description] of Object.entries(COMMANDS)) {
    const handler = async (given, ctx) => {
      const words = given.split(" ").filter(Boolean);
      const printed = await run(["context", name, ...words, "--later"], ctx);
      ctx.ui.notify(printed || "Sapwood did not answer.", "info");
    };
    pi.registerCommand(`sapwood:${name}`, { description, handler });
  }
};
