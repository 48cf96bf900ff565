"""Claude Code: transcripts under `projects/<folder>/<session>.jsonl`."""
