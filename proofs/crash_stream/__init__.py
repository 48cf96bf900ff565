"""Interrupts answers while they stream to a real screen, and compares screen, log and bill."""
