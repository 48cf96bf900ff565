"""The public runtime: Python functions as tools, and turns as streams."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from concurrent import futures
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import pytest

import sapwood
from sapwood import RefusedError, SapwoodError, ToolCall, ToolError
from sapwood.core.content import Text
from sapwood.core.model_calls import Answer, Delta, Failure, ToolSpec
from sapwood.core.view import Request
from sapwood.testing import FakeModel


class Called:
    """A model that calls a tool once with these arguments, and then repeats the result."""

    def __init__(self, name: str, args: Mapping[str, object]) -> None:
        self.call = ToolCall("1", name, msgspec.json.encode(args).decode())
        self.offered: Sequence[ToolSpec] = ()

    async def stream(
        self,
        request: Request,
        tools: Sequence[ToolSpec] = (),
        *,
        params: Mapping[str, object] | None = None,
    ) -> AsyncGenerator[Delta | Answer]:
        self.offered = tools
        last = request.messages[-1].parts[-1]
        if isinstance(last, Text):
            yield Answer((self.call,))
        else:
            assert isinstance(last, sapwood.ToolResult)
            failed = "failed: " if last.error else ""
            yield Delta("text", f"{failed}{last.content}")
            yield Answer((Text(f"{failed}{last.content}"),))

    def window_of(self, model: str) -> int | None:
        return None


async def answer(model: Called, function: object, **options: Any) -> str:
    async with (
        asyncio.timeout(60),
        sapwood.open(":memory:") as db,
        sapwood.runtime(db, tools=[function], models=model, **options),  # pyright: ignore[reportArgumentType] # some are wrong on purpose
    ):
        agent = await db.start("demo", model="called")
        return (await agent.ask("Go.")).text


@dataclass
class Place:
    city: str
    country: str = "Norway"


def weather(place: Place, days: int = 1) -> dict[str, object]:
    """Says what the weather will be.

    Args:
        place: Where.
        days: How many days ahead,
            at most ten.

    Returns:
        The forecast.
    """
    return {"city": place.city, "country": place.country, "days": days}


async def test_a_function_gets_typed_arguments_and_its_result_is_sent_as_json() -> None:
    model = Called("weather", {"place": {"city": "Oslo"}, "days": "3"})
    said = await answer(model, weather)
    assert msgspec.json.decode(said) == {"city": "Oslo", "country": "Norway", "days": 3}


async def test_the_schema_comes_from_the_signature_and_the_docstring() -> None:
    model = Called("weather", {"place": {"city": "Oslo"}})
    await answer(model, weather)
    [spec] = model.offered
    schema = msgspec.json.decode(spec.schema)
    assert spec.description == "Says what the weather will be."
    assert schema["required"] == ["place"]
    assert schema["properties"]["days"]["description"] == "How many days ahead, at most ten."
    assert "Place" in str(schema), "a model needs the fields of a place"
    assert schema["$defs"]["Place"]["properties"]["city"] == {"type": "string"}


async def test_an_asynchronous_function_gets_the_context_of_the_call() -> None:
    async def who(context: sapwood.ToolContext, greeting: str) -> str:
        return f"{greeting} {context.space} {bool(context.agent)} {context.call}"

    model = Called("who", {"greeting": "Hello"})
    assert await answer(model, who) == "Hello local True 1"
    assert "context" not in model.offered[0].schema


async def test_a_function_gets_the_tags_of_its_agent_and_what_the_program_gave() -> None:
    def price(context: sapwood.ToolContext[dict[str, int]], item: str) -> str:
        where = context.metadata["shop"]
        of = f"{context.deps[item]} for {context.owner} {context.labels} in {where}"
        return f"{of}, asked by {context.actor}"

    async with (
        asyncio.timeout(60),
        sapwood.open(":memory:") as db,
        sapwood.runtime(
            db, tools=[price], models=Called("price", {"item": "oak"}), deps={"oak": 7}
        ),
    ):
        agent = await db.start("demo", model="called")
        await agent.label("vip", owner="ada", metadata={"shop": "Oslo"})
        assert (await agent.ask("Go.")).text == ("7 for ada ('vip',) in Oslo, asked by human")


@pytest.mark.parametrize("retry", ["never", "by_key"])
async def test_a_call_that_was_cut_off_is_run_again_only_by_its_key(
    retry: Literal["never", "by_key"],
) -> None:
    ran, is_running = list[str](), asyncio.Event()

    @sapwood.tool(retry=retry)
    async def charge(context: sapwood.ToolContext, amount: int) -> str:
        ran.append(context.call)
        is_running.set()
        if len(ran) == 1:
            await asyncio.Event().wait()  # until the process ends
        return f"charged {amount}"

    model = Called("charge", {"amount": 3})
    async with asyncio.timeout(60), sapwood.open(":memory:") as db:
        agent = await db.start("demo", model="called")
        async with sapwood.runtime(db, tools=[charge], models=model):
            await agent.prompt("Go.", command_id="once")
            await is_running.wait()
        async with sapwood.runtime(db, tools=[charge], models=model):
            said = (await agent.ask("Go.", command_id="once")).text
    if retry == "by_key":
        assert (said, ran) == ("charged 3", ["1", "1"])
    else:
        assert said.startswith("failed: The process that ran this call stopped")
        assert ran == ["1"]


async def test_wrong_arguments_reach_the_model_and_not_the_function() -> None:
    ran: list[int] = []
    said = await answer(Called("double", {"number": "many"}), _double(ran))
    assert said.startswith("failed: double did not run.")
    assert not ran


async def test_the_words_of_an_exception_stay_out_of_the_conversation() -> None:
    def connect(host: str) -> str:
        raise RuntimeError(f"could not connect to postgresql://svc:hunter2024@{host}")

    said = await answer(Called("connect", {"host": "db"}), connect)
    assert said == "failed: connect failed with RuntimeError."


class _Stop(BaseException):
    """What a library may raise to end a program."""


def _raising(error: type[BaseException], *, reads: bool, is_async: bool) -> object:
    @sapwood.tool(name="find", reads=reads)
    def find(order: str) -> str:
        raise error(order)

    @sapwood.tool(name="find", reads=reads)
    async def find_async(order: str) -> str:
        return find(order)

    return find_async if is_async else find


@pytest.mark.parametrize("reads", [False, True])
@pytest.mark.parametrize(
    ("error", "is_async"),
    [
        *((error, False) for error in (StopIteration, StopAsyncIteration, KeyboardInterrupt)),
        *((error, False) for error in (SystemExit, GeneratorExit, futures.CancelledError, _Stop)),
        *((error, True) for error in (SystemExit, asyncio.CancelledError, _Stop)),
    ],
)
async def test_no_exception_of_a_function_ends_more_than_its_call(
    error: type[BaseException], is_async: bool, reads: bool
) -> None:
    find = _raising(error, reads=reads, is_async=is_async)
    said = await answer(Called("find", {"order": "7"}), find)
    assert said == f"failed: find failed with {error.__name__}."


async def test_functions_that_do_not_return_leave_room_for_others() -> None:
    released, hanging = threading.Event(), asyncio.Semaphore(0)
    loop = asyncio.get_running_loop()

    def hang(number: int) -> None:
        loop.call_soon_threadsafe(hanging.release)
        released.wait(60)

    calls = [ToolCall(str(n), "hang", f'{{"number": {n}}}') for n in range(40)]
    model = FakeModel(lambda _, heard: "Done." if "Done" in heard else calls)
    async with (
        asyncio.timeout(60),
        sapwood.open(":memory:") as db,
        sapwood.runtime(db, tools=[sapwood.tool(reads=True)(hang)], models=model),
    ):
        agent = await db.start("demo", model="planned")
        await agent.prompt("Go.")
        try:
            for _ in calls:
                await hanging.acquire()
            await asyncio.to_thread(released.is_set)  # here Sapwood stores large texts
        finally:
            released.set()


async def test_a_tool_error_is_for_the_model() -> None:
    def connect(host: str) -> str:
        raise ToolError(f"There is no host {host}. Try 'db'.")

    said = await answer(Called("connect", {"host": "bd"}), connect)
    assert said == "failed: There is no host bd. Try 'db'."


@pytest.mark.parametrize("rule", ["deny double", "ask double", "deny *"])
async def test_a_rule_takes_precedence_over_the_program_that_gives_a_function(rule: str) -> None:
    ran: list[int] = []
    said = await answer(Called("double", {"number": 4}), _double(ran), permissions=[rule])
    assert "double was blocked" in said
    assert not ran


async def test_models_have_no_slash_commands_unless_they_are_given() -> None:
    model = Called("slash", {"command": "kill"})
    assert "There is no tool slash" in await answer(model, _double([]))
    assert [spec.name for spec in model.offered] == ["double"]
    with_commands = Called("slash", {"command": "check-mail"})
    assert "There is no tool" not in await answer(with_commands, _double([]), commands=True)


def test_a_function_that_cannot_be_a_tool_is_refused_when_it_is_given() -> None:
    def collecting(*cities: str) -> None: ...

    def strange(it: asyncio.Task[None]) -> None: ...

    untyped: Callable[..., object] = eval("lambda city: city")
    named = sapwood.tool(name="untyped")(untyped)
    wrong: list[Any] = [named, collecting, strange, untyped, "weather"]
    for function in wrong:
        with pytest.raises(SapwoodError):
            sapwood.runtime(tools=[function])
    with pytest.raises(SapwoodError, match="Two tools are named weather"):
        sapwood.runtime(tools=[weather, weather])
    with pytest.raises(SapwoodError, match="no tool wether"):
        sapwood.runtime(tools=[weather], permissions=["deny wether"])


async def test_a_turn_yields_words_and_events_and_has_the_reply_at_its_end() -> None:
    model = FakeModel(lambda _, heard: f"You said: {heard}")
    async with sapwood.open(":memory:") as db, sapwood.runtime(db, models=model):
        agent = await db.start("demo", model="planned")
        turn = agent.ask("/kill is only text here.")
        async with asyncio.timeout(60):
            items = [item async for item in turn]
    words = "".join(item.text for item in items if isinstance(item, Delta))
    kinds = [item.kind for item in items if isinstance(item, sapwood.Recorded)]
    assert words == turn.result.text == "You said: /kill is only text here."
    assert kinds[0] == "model.called"
    assert kinds[-1] == "turn.completed"
    assert turn.result.usage.output == 10


async def test_a_turn_may_be_read_and_awaited_at_the_same_time() -> None:
    model = FakeModel(lambda _, heard: f"You said: {heard}")
    async with sapwood.open(":memory:") as db, sapwood.runtime(db, models=model):
        agent = await db.start("demo", model="planned")
        turn = agent.ask("Hello!")

        async def words() -> str:
            return "".join([item.text async for item in turn if isinstance(item, Delta)])

        async with asyncio.timeout(60):
            read, _ = await asyncio.gather(words(), asyncio.ensure_future(turn))
    assert read == turn.result.text == "You said: Hello!"
    assert len(model.requests) == 1


async def test_the_same_command_id_sends_one_prompt() -> None:
    model = FakeModel(lambda _, heard: f"You said: {heard}")
    async with sapwood.open(":memory:") as db, sapwood.runtime(db, models=model):
        agent = await db.start("demo", model="planned")
        async with asyncio.timeout(60):
            first = await agent.ask("Hello!", command_id="r-1")
            again = await agent.ask("Hello!", command_id="r-1")
    assert again == first
    assert len(model.requests) == 1


async def test_a_failed_turn_raises_and_says_why() -> None:
    class Broken:
        async def stream(self, *_: object, **__: object) -> AsyncGenerator[Delta | Answer]:
            raise Failure("no_key", "There is no key.")
            yield Delta("text", "")

        def window_of(self, model: str) -> int | None:
            return None

    async with sapwood.open(":memory:") as db, sapwood.runtime(db, models=Broken()):
        agent = await db.start("demo", model="broken")
        async with asyncio.timeout(60):
            with pytest.raises(sapwood.TurnError, match="There is no key"):
                await agent.ask("Hello!")


class _Defect:
    """Access to models that breaks its promise to raise nothing but `Failure`."""

    def __init__(self, *, at_once: bool) -> None:
        self._at_once = at_once

    def stream(self, *_: object, **__: object) -> AsyncGenerator[Delta | Answer]:
        if self._at_once:
            raise KeyError("secret-host")
        return self._pieces()

    async def _pieces(self) -> AsyncGenerator[Delta | Answer]:
        yield Delta("text", "It is ")
        raise KeyError("secret-host")

    def window_of(self, model: str) -> int | None:
        return None


@pytest.mark.parametrize("at_once", [False, True])
async def test_any_exception_of_the_access_to_models_ends_the_turn(at_once: bool) -> None:
    async with sapwood.open(":memory:") as db, sapwood.runtime(db, models=_Defect(at_once=at_once)):
        agent = await db.start("demo", model="broken")
        async with asyncio.timeout(60):
            for _ in range(2):  # the agent takes the next prompt
                with pytest.raises(sapwood.TurnError, match=r"failed with KeyError\. The log"):
                    await agent.ask("Hello!")
        words = "" if at_once else "It is "
        assert words in str((await agent.request()).messages)


async def test_an_open_turn_refuses_a_second_prompt() -> None:
    async with sapwood.open(":memory:") as db:
        agent = await db.start("demo", model="planned")
        await agent.prompt("Hello!")
        with pytest.raises(RefusedError):
            await agent.ask("Hello again!")


async def test_one_runtime_serves_the_spaces_of_a_pattern_and_no_others() -> None:
    model = FakeModel(lambda _, heard: f"You said: {heard}")
    async with (
        asyncio.timeout(60),
        sapwood.open(":memory:") as db,
        sapwood.runtime(db, models=model, spaces=["acme-*"]),
    ):
        served = await db.space("acme-7").start("demo", model="planned")
        other = await db.space("other").start("demo", model="planned")
        await other.prompt("Hello!")
        assert (await served.ask("Hello!")).text == "You said: Hello!"
        assert (await other.state()).open is not None


async def test_a_runtime_without_a_database_is_a_description() -> None:
    described = sapwood.runtime(models=FakeModel(lambda _, heard: f"You said: {heard}"))
    with pytest.raises(SapwoodError, match="no database"):
        await described.__aenter__()
    async with asyncio.timeout(60), sapwood.open(":memory:") as db, described.on(db):
        agent = await db.start("demo", model="planned")
        assert (await agent.ask("Hello!")).text == "You said: Hello!"


def _double(ran: list[int]) -> object:
    def double(number: int) -> int:
        ran.append(number)
        return 2 * number

    return double
