"""From events to rows: what a reader of a conversation sees, in which order. Pure."""
