"""Writers killed at random moments: what was acknowledged is there, once, whatever is killed when.

    python -m proofs.crash [--kills N] [--backend sqlite|postgres|both]

A command's id decides everything it writes but the versions it finds, so a check needs no other
memory than the ids that were acknowledged. What a killed writer had begun, the next one gives
again under the same id: it must be done once, before or now.
"""
