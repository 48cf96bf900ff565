"""Proofs: checks of what must always hold, with generated histories and killed processes."""
