"""The engine on Temporal, for companies that run a Temporal cluster or use Temporal Cloud.

Each agent that has work to do is a workflow, named after its space and its id. A wake is a signal,
which starts the workflow if it does not run. A drive is an activity with heartbeats: Temporal gives
it to a free worker, retries it when it fails, and gives it to another worker when its worker dies.
A workflow ends when its agent has nothing to do, so an idle agent costs nothing. Temporal stores
ids, names of models and users, and times, and nothing of a conversation.

It is a plug-in: `pip install 'sapwood[temporal]'`.
"""

from sapwood_temporal.temporal_engine import TemporalEngine

__all__ = ["TemporalEngine"]
