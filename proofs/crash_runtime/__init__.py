"""Kills workers at random moments while agents work: every turn must still end exactly once.

    python -m proofs.crash_runtime [--engine worker] [--kills N] [--agents N] [--workers N]

It runs on each engine: on ours, with processes, with workers and with both, and on
Temporal with the log in PostgreSQL.

Half of the agents are founders, which get one round of work after the other. Each founder forks a
scout in its first round, which then works too. A round runs tools that leave traces on disk, sends
mail and reads mail. The workers are real `sapwood worker` processes; the scripted model answers
over HTTP. The check compares three independent records: the log, the journal of the model's
requests, and the traces of the tools.
"""
