"""Generated histories of a workspace with reverts in between: nothing is lost or changed.

    python -m proofs.revert --histories 2000

A model of the workspace, which knows nothing of Sapwood, says after each revert what every file
must be. A part of the reverts is killed in the middle and then finished, and if root runs this, a
part of the histories belongs to another user, for whom some files cannot be read.
"""
