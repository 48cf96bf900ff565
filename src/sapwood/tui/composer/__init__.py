"""The composer: where a person types, with completion, history and a queue."""
