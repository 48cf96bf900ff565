"""How each tool works. `WorkspaceToolbox` checks permissions before it calls these functions."""
