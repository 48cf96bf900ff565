"""Everything end to end: the assembled product against a scripted model over real HTTP.

`python -m proofs.e2e` plays every scene in each of the four wire formats, on an SQLite file, with
the engine that one developer gets, and then replays every model call that was made.
"""
