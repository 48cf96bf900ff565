"""Attacks on the built program, as a permanent proof."""
