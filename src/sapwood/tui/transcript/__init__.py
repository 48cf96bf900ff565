"""The transcript: one widget that draws any number of rows, a line at a time."""
