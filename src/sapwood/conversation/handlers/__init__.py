"""The handlers of the command table, by subject. Each takes a call and returns a typed answer."""
