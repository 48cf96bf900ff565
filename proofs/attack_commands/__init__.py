"""Hostile and harmless command lines, through the real decision with typical rules."""
