"""Proofs: what must always hold, tried on generated histories and under kills."""
