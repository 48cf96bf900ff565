"""Token counters: estimates and exact vocabularies, and the choice of a counter for a model."""
