"""Real clients of other protocols against `sapwood serve`: the AG-UI client and the Agents SDK."""
