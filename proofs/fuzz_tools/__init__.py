"""Calls every tool with hostile arguments: each call must end in a result, and every turn ends."""
