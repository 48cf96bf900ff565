"""The class `Runtime`: runs the turns of agents in this process, with Python functions as tools."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack

from msgspec import structs

from sapwood.api.database import Sapwood
from sapwood.app.runtime_options import (
    RuntimeOptions,
    ToolFunction,
    runtime_options,
    started_runners,
)
from sapwood.app.space_runners import SpacePattern
from sapwood.core.errors import RefusedError, SapwoodError
from sapwood.core.refusals import BadSetting
from sapwood.core.turn_params import TurnParams
from sapwood.engine import DriveLimits
from sapwood.turns.model_access import ModelAccess
from sapwood.turns.scheduler import Engine
from sapwood.turns.tool_calls import Toolbox


def runtime(
    db: Sapwood | None = None,
    *,
    tools: Iterable[ToolFunction | Toolbox] = (),
    models: ModelAccess | Mapping[str, str] | None = None,
    urls: Mapping[str, str] | None = None,
    params: TurnParams | None = None,
    permissions: Iterable[str] = (),
    limits: DriveLimits | None = None,
    spaces: str | Sequence[str] | None = None,
    engine: Engine | None = None,
    commands: bool = False,
    deps: object = None,
) -> "Runtime":
    """Returns a runtime: inside `async with`, it answers the prompts of the agents of `db`.

    `tools` are Python functions; their signatures and docstrings become schemas. `models` are API
    keys by provider, or an object that sends requests itself; by default the configured keys.
    `urls` are addresses by provider. `params` are parameters of all turns; those of an agent or of
    a prompt take precedence. `permissions` are rules such as `deny refund` or `ask *`;
    without a rule, the functions that you give may be called. `limits` bound how much runs at once.

    `spaces` are the spaces to serve, such as `"*"` or `["acme-*", "local"]`, by default that of
    `db`. `engine` replaces the engine of the database. With `commands`, models may use slash
    commands, for example to fork or to send mail to agents of their space. `deps` is any object
    for the tools, such as a client of your database; they find it in their `ToolContext`.

    Without `db` the result describes a runtime, for `sapwood worker --app MODULE:NAME`. Raises
    `SapwoodError` if a function cannot be a tool or a rule is not valid.

    >>> import asyncio, sapwood
    >>> from sapwood.testing import FakeModel
    >>> async def main() -> None:
    ...     model = FakeModel(lambda request, heard: f"You said: {heard}")
    ...     async with sapwood.open(":memory:") as db, sapwood.runtime(db, models=model):
    ...         agent = await db.start("demo", model="planned")
    ...         print((await agent.ask("Hello!")).text)
    >>> asyncio.run(main())
    You said: Hello!
    """
    if problem := params.problem() if params is not None else None:
        raise RefusedError(BadSetting(*problem))
    options = runtime_options(
        tools, permissions, models, urls, limits, spaces, engine, commands, params, deps
    )
    return Runtime(options, db)


class Runtime:
    """Answers prompts in this process. `sapwood.runtime` returns it.

    Entering the block starts it: it takes up unfinished turns first. At the end of the block open
    turns stay open, and another worker continues them.

    >>> import asyncio, sapwood
    >>> from sapwood.testing import FakeModel
    >>> described = sapwood.runtime(models=FakeModel(lambda request, heard: "Yes."))
    >>> async def main() -> None:
    ...     async with sapwood.open(":memory:") as db, described.on(db):
    ...         agent = await db.start("demo", model="planned")
    ...         print((await agent.ask("Is it on?")).text)
    >>> asyncio.run(main())
    Yes.
    """

    def __init__(self, options: RuntimeOptions, db: Sapwood | None = None) -> None:
        self._options = options
        self._db = db
        self._stack = AsyncExitStack()

    @property
    def limits(self) -> DriveLimits | None:
        """The limits that were given; None if the usual ones hold."""
        return self._options.limits

    def on(
        self,
        db: Sapwood,
        *,
        spaces: str | Sequence[str] | None = None,
        limits: DriveLimits | None = None,
        for_workers: bool = False,
    ) -> "Runtime":
        """Returns the same runtime for another database, for other spaces, or with other limits.

        With `for_workers` it takes work that other processes left, as `sapwood worker` does.
        """
        options = structs.replace(self._options, for_workers=for_workers)
        if spaces is not None:
            options = structs.replace(options, spaces=SpacePattern.of(spaces))
        if limits is not None:
            options = structs.replace(options, limits=limits)
        return Runtime(options, db)

    async def __aenter__(self) -> "Runtime":
        if self._db is None:
            raise SapwoodError(
                "This runtime has no database. Write sapwood.runtime(db, …), or runtime.on(db)."
            )
        async with AsyncExitStack() as stack:
            await started_runners(self._db.connection, self._options, stack)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()
