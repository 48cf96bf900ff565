"""Calls the Python API with wrong, odd and hostile arguments.

Each call is converted or refused with a `SapwoodError`. Afterwards every agent of the space opens,
and its request, search, tail, export and replay work; no event is unreadable and no secret is
stored.
"""
