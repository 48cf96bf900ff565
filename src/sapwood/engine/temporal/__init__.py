"""The engine on Temporal, for companies that run a Temporal cluster or use Temporal Cloud.

Each agent that has work to do is a workflow, named after its space and its id. A wake is a signal,
which starts the workflow if it does not run. A drive is an activity with heartbeats: Temporal gives
it to a free worker, retries it when it fails, and gives it to another worker when its worker dies.
A workflow ends when its agent has nothing to do, so an idle agent costs nothing. Temporal stores
ids, names of models and users, and times, and nothing of a conversation.

It is an extra: `pip install 'sapwood[temporal]'`.
"""

try:
    import temporalio as _temporalio  # noqa: F401  # pyright: ignore[reportUnusedImport]
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "The Temporal engine needs a package that is not installed. Type: pip install "
        "'sapwood[temporal]'"
    ) from missing

from sapwood.engine.temporal.temporal_engine import TemporalEngine

__all__ = ["TemporalEngine"]
