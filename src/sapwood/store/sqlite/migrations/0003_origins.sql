-- Where an imported agent comes from: the program, and the id that its session has there.
ALTER TABLE agents ADD COLUMN source  TEXT NOT NULL DEFAULT '';
ALTER TABLE agents ADD COLUMN session TEXT NOT NULL DEFAULT '';
