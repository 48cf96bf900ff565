-- Where the events stand that cursors count, so that a cursor is found without counting from the
-- beginning. One row for each thousand events of a space, and for the first one after a long pause.
-- All of this is computed from the events, in the background and when a cursor is asked for.
CREATE TABLE cursor_places (
    space    TEXT    NOT NULL,
    events   INTEGER NOT NULL, -- how many events the space has up to here
    position INTEGER NOT NULL, -- of the last of them
    PRIMARY KEY (space, events)
) STRICT, WITHOUT ROWID;

-- How many events each space has up to the position in `counted`, with those that were erased.
CREATE TABLE event_counts (
    space  TEXT    NOT NULL PRIMARY KEY,
    events INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE counted (
    position INTEGER NOT NULL
) STRICT;

INSERT INTO counted VALUES (0);

-- Erased events are counted too, in the order of their positions.
CREATE INDEX gaps_by_position ON gaps (position);
