"""Codex: rollouts under `sessions/Y/M/D/rollout-*.jsonl`."""
