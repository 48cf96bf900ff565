"""The core: events, commands, decide, evolve, context and view. Pure and synchronous.

No I/O, no clock, no randomness: time and ids arrive in the command. Everything Sapwood knows
about conversations stands here; everything around it only moves bytes.
"""
