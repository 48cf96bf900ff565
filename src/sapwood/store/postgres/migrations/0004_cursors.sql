-- Cursors count the events of their own space. Those of earlier versions were positions over all
-- spaces; they stay valid for the events that were stored before this migration, and for no later
-- ones, so that nobody can find out by trying how much others have written since.
CREATE TABLE sapwood.old_cursors (
    tx xid8 NOT NULL -- of the last event before the migration
);

INSERT INTO sapwood.old_cursors SELECT tx FROM sapwood.events ORDER BY tx DESC LIMIT 1;
