"""Pages over the conversation: lists with a preview, texts to read, and questions."""
