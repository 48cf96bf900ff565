"""Carries out commands and drives turns. Only this package writes to a log."""
