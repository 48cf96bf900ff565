-- The conversations of a folder, last written to first, without reading those of other folders.
--
-- An index on the moment of the last event would be rewritten by every commit. The hour of it
-- changes seldom, and within one hour there are few rows to sort.
ALTER TABLE agents ADD COLUMN hour INTEGER NOT NULL DEFAULT 0;
UPDATE agents SET hour = updated / 3600000000;
CREATE INDEX agents_by_folder ON agents (space, folder, hour)
WHERE parent IS NULL AND folder <> '';
