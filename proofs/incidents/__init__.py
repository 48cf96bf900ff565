"""Six incidents, staged on this machine and ended by the cure of the runbook."""
