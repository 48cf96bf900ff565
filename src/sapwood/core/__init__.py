"""The core: events, commands, decide, evolve, context, view and timeline. Pure and synchronous.

No I/O, no clock, no randomness: time and ids arrive in the command. All rules about conversations
are here; the packages around it read, store, send and show.
"""
