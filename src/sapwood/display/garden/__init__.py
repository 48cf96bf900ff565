"""What a gardener answers, as lines for people and models alike: one file an answer."""
