"""Kills writers at random moments: every acknowledged commit must be stored exactly once.

    python -m proofs.crash [--kills N] [--backend sqlite|postgres|both]

The id of a command determines everything that it writes, except the versions. So a check needs only
the acknowledged ids. The next writer repeats, under the same ids, the commands that a killed writer
had begun; each must take effect once.
"""
