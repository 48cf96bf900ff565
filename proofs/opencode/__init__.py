"""The real opencode with a scripted model: a record of its database, every trap, and kills."""
