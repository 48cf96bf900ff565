"""The first minute of a new user, from the built wheel: six ways in, and the dead ends."""
