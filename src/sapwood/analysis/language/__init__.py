"""English text: sentences, phrase patterns and word stems, for the rules of analysis."""
