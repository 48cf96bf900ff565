"""Talking to agents from a shell: prompts and scripts played step by step, answers streamed."""
