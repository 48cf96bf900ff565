"""Sapwood as the store of other agent frameworks: one module for each framework.

Each module is imported by name, for example `from sapwood_frameworks.openai_agents import
SapwoodSession`, and imports its framework only if it needs the framework's classes.
"""
