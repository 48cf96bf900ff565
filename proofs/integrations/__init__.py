"""The integrations, each proved with the real framework against the scripted model."""
