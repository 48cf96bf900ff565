-- Erasure is the one exception to 'append-only'. A row in `erasing_now`, which exists only inside
-- of the transaction that erases, lets the guards pass.

-- What was erased when by whom. Counts, and nothing of what was erased.
CREATE TABLE erasures (
    id        TEXT    PRIMARY KEY,
    space     TEXT    NOT NULL,
    at        INTEGER NOT NULL,
    by        TEXT    NOT NULL,
    scope     TEXT    NOT NULL,
    agents    INTEGER NOT NULL DEFAULT 0,
    events    INTEGER NOT NULL DEFAULT 0,
    contents  INTEGER NOT NULL DEFAULT 0,
    rewritten INTEGER NOT NULL DEFAULT 0,
    finished  INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- The agents of unfinished erasures. The rows go when the erasure is finished.
CREATE TABLE erasing (
    erasure TEXT    NOT NULL,
    space   TEXT    NOT NULL,
    agent   TEXT    NOT NULL,
    deleted INTEGER NOT NULL DEFAULT 0,
    outside TEXT    NOT NULL DEFAULT '{}',
    PRIMARY KEY (space, agent)
) STRICT, WITHOUT ROWID;

CREATE TABLE erasing_now (
    erasure TEXT NOT NULL
) STRICT;

-- Where erased events were. Cursors count events, so they need to know; one row for each event,
-- because a tail may have seen some events of a commit and not others.
CREATE TABLE gaps (
    space    TEXT    NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (space, position)
) STRICT, WITHOUT ROWID;

-- A word index that is made again without what was erased, and how far it has come.
CREATE TABLE word_rebuilds (
    space    TEXT    PRIMARY KEY,
    number   INTEGER NOT NULL,
    position INTEGER NOT NULL
) STRICT;

-- Counts the agents that were erased: words that were read before an erasure are not indexed after
-- it.
ALTER TABLE indexed ADD COLUMN erased INTEGER NOT NULL DEFAULT 0;

CREATE TABLE holds (
    id          TEXT    PRIMARY KEY,
    space       TEXT    NOT NULL,
    at          INTEGER NOT NULL,
    by          TEXT    NOT NULL,
    scope       TEXT    NOT NULL,
    subject     TEXT    NOT NULL,
    reason      TEXT    NOT NULL,
    released    INTEGER NOT NULL DEFAULT 0,
    released_by TEXT    NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

-- Which long texts are still in use, and which events quote other agents.
CREATE INDEX events_with_contents ON events (space, agent, contents) WHERE contents IS NOT NULL;
CREATE INDEX events_that_quote ON events (space, kind) WHERE kind = 'context.loaded';

DROP TRIGGER events_never_change;
DROP TRIGGER events_never_go;
DROP TRIGGER contents_never_go;

CREATE TRIGGER events_never_change BEFORE UPDATE ON events
WHEN NOT EXISTS (SELECT 1 FROM erasing_now)
BEGIN
    SELECT raise(ABORT, 'the log is append-only: an event cannot be changed');
END;

CREATE TRIGGER events_never_go BEFORE DELETE ON events
WHEN NOT EXISTS (SELECT 1 FROM erasing_now)
BEGIN
    SELECT raise(ABORT, 'the log is append-only: an event cannot be deleted');
END;

CREATE TRIGGER contents_never_go BEFORE DELETE ON contents
WHEN NOT EXISTS (SELECT 1 FROM erasing_now)
BEGIN
    SELECT raise(ABORT, 'the log is append-only: a text cannot be deleted');
END;
