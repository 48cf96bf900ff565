"""What can go wrong in an engine."""

from sapwood.core.errors import SapwoodError

__all__ = ["EngineError"]


class EngineError(SapwoodError):
    """An engine could not do what was asked. The log is untouched by it.

    >>> import asyncio
    >>> from sapwood.core.ids import AgentId, Space
    >>> from sapwood.engine import LocalEngine
    >>> async def wake_too_late() -> None:
    ...     engine = LocalEngine()
    ...     await engine.close()
    ...     await engine.wake(Space("main"), AgentId("ada"))
    >>> try:
    ...     asyncio.run(wake_too_late())
    ... except EngineError as error:
    ...     print(error)
    The engine is closed, so nobody was woken. Open another one.
    """

    @classmethod
    def closed(cls) -> "EngineError":
        """For whoever wakes an agent too late."""
        return cls("The engine is closed, so nobody was woken. Open another one.")
