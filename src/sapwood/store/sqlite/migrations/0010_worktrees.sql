-- The worktree and the branch of each agent, which lists show. Empty until its next commit.
ALTER TABLE agents ADD COLUMN worktree TEXT NOT NULL DEFAULT '';
ALTER TABLE agents ADD COLUMN branch TEXT NOT NULL DEFAULT '';
