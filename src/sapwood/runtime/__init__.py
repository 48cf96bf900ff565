"""The runtime: carries out commands and drives turns. Only the runtime writes to a log.

The public function `sapwood.runtime(…)` has the same name as this package, so that the package can
be called: it passes the call to `sapwood.api.runtime`, which describes the arguments.

>>> import asyncio, sapwood
>>> from sapwood.testing import PlannedModel
>>> async def main() -> None:
...     model = PlannedModel(lambda request, heard: f"You said: {heard}")
...     async with sapwood.open(":memory:") as wood, sapwood.runtime(wood, models=model):
...         agent = await wood.start("demo", model="planned")
...         print((await agent.ask("Hello!")).text)
>>> asyncio.run(main())
You said: Hello!
"""

import sys
from importlib import import_module
from types import ModuleType


class _CallablePackage(ModuleType):
    def __call__(self, *args: object, **named: object) -> object:
        return import_module("sapwood.api.runtime").runtime(*args, **named)


sys.modules[__name__].__class__ = _CallablePackage
