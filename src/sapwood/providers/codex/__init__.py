"""Codex: its app server for threads that run here, its rollout files for threads at rest."""

from sapwood.providers.codex.provider import CodexProvider

__all__ = ["CodexProvider"]
