"""An agent of your own on Sapwood. Needs no API key: the model is a function."""

import asyncio

import sapwood


def model(request: sapwood.Request) -> tuple[str, list[sapwood.ToolCall]]:
    last = request.messages[-1].parts[-1]
    if isinstance(last, sapwood.ToolResult):
        return f"It is {last.content}.", []
    asks = request.messages[-1].text.startswith("What time")
    return ("", [sapwood.ToolCall("1", "clock")]) if asks else ("Noted.", [])


async def ask(agent: sapwood.Agent, prompt: str | None = None) -> str:
    async with agent.turn(prompt) as turn:
        while True:
            text, calls = model(await turn.call())
            await turn.reply(text, calls=calls)
            if not calls:
                return text
            await turn.result(calls[0].id, "noon")


async def main() -> None:
    async with sapwood.open("own_agent.db") as db:
        agent = await db.start("demo", model="scripted", cap=50_000)
        print(await ask(agent, "What time is it?"), await agent.mark("NOON"))
        await ask(agent, "Herons nest in tall trees.")
        print("new since NOON:", len((await agent.diff("NOON")).only_right), "turn")
        print(await agent.rewind("NOON"), len((await agent.request()).messages), "messages")
        print(await agent.undo(), len((await agent.request()).messages), "messages")
        child = await agent.fork("NOON", goal="Where do they nest?")
        print(await ask(child), [m.text.splitlines()[-1] for m in (await child.request()).messages])
        print((await db.search("heron nests"))[0].snippet, (await agent.replay()).matches)


asyncio.run(main())
