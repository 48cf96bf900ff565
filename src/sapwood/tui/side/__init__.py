"""What stands beside and below the conversation: agents, marks, warnings, the budget."""
