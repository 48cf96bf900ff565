-- A hash of what each command asked for, so that its id cannot be used for another one. Empty for
-- commands of earlier versions, and where the content was erased. Encrypted in encrypted spaces.
ALTER TABLE receipts ADD COLUMN digest TEXT NOT NULL DEFAULT '';
