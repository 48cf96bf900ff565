"""Gemini CLI: chats under `tmp/<project>/chats/session-*.jsonl`."""
