"""The transcript widget. It draws a conversation of any length, only the rows on screen."""
