// Loaded into every pi that Sapwood drives: asks before tools run, and takes prompts as they are.
// A prompt that is sent by RPC would be searched for commands, and its parts would be joined.
export default (pi) => {
  let prompt = null;
  pi.registerCommand("sapwood-send", {
    description: "Used by Sapwood",
    handler: async (given) => {
      const { turn, content } = JSON.parse(given);
      prompt = content;
      pi.appendEntry("sapwood", { turn });
      pi.sendUserMessage(content);
    },
  });
  pi.on("message_end", ({ message }) => {
    if (message.role !== "user" || prompt === null) return;
    const content = prompt;
    prompt = null;
    return { message: { ...message, content } };
  });
  const free = (process.env.SAPWOOD_PI_FREE_TOOLS ?? "").split(",");
  pi.on("tool_call", async (event, ctx) => {
    if (free.includes("*") || free.includes(event.toolName)) return;
    const { toolCallId, toolName, input } = event;
    const answer = await ctx.ui.input("sapwood", JSON.stringify({ toolCallId, toolName, input }));
    if (answer !== "allowed") return { block: true, reason: answer || "This is not allowed." };
  });
};
