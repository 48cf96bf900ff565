-- Cursors count the events of their own space. Those of earlier versions were positions over all
-- spaces; they stay valid for the events that were stored before this migration, and for no later
-- ones, so that nobody can find out by trying how much others have written since.
CREATE TABLE old_cursors (
    position INTEGER NOT NULL -- of the last event before the migration
) STRICT;

INSERT INTO old_cursors SELECT coalesce(max(position), 0) FROM events;
