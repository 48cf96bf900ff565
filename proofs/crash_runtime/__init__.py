"""Workers killed at random moments while a team of agents works: every turn still ends, once.

    python -m proofs.crash_runtime [--kills N] [--agents N] [--workers N] [--database postgres]

Half of the team are founders, who are given round after round of work; each forks a scout in its
first round, who then works too. A round runs tools that leave a trace on disk, sends mail and reads
it. The workers are the real command, `sapwood worker`, and the model is the scripted one, asked
over HTTP. What came of it is read from three places that cannot agree by accident: the log, the
journal of requests that the model got, and the traces of the tools.
"""
