"""Pages over the conversation: pickers with a preview, and texts to read."""
