"""Acts: what the tool calls of any program did to files, and what they ran."""
