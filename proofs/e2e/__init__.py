"""End-to-end proof: the complete product with a scripted model over HTTP.

`python -m proofs.e2e` runs every scene in each of the four wire formats, on an SQLite file with the
default engine, and then replays every model call.
"""
