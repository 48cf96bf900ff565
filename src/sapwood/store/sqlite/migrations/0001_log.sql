-- The log and what is derived from it. Every table is divided by space.

CREATE TABLE events (
    position INTEGER PRIMARY KEY, -- the order of commits, over all agents
    space    TEXT    NOT NULL,
    agent    TEXT    NOT NULL,
    version  INTEGER NOT NULL,
    kind     TEXT    NOT NULL,
    data     TEXT    NOT NULL,
    contents TEXT,                -- hashes of the long texts taken out of data, if any
    at       INTEGER NOT NULL,
    actor    TEXT    NOT NULL,
    command  TEXT    NOT NULL,
    UNIQUE (space, agent, version)
) STRICT;

-- REPLACE deletes without firing delete triggers, so it has to be stopped before it inserts.
CREATE TRIGGER events_follow BEFORE INSERT ON events
WHEN EXISTS (SELECT 1 FROM events WHERE position = NEW.position)
  OR NEW.version <> 1 + coalesce(
    (SELECT max(version) FROM events WHERE space = NEW.space AND agent = NEW.agent), 0
  )
BEGIN
    SELECT raise(ABORT, 'the log is append-only: an event can only follow the last one');
END;

-- A position below the last one would be passed over by whoever follows.
CREATE TRIGGER events_come_last AFTER INSERT ON events
WHEN NEW.position < (SELECT max(position) FROM events)
BEGIN
    SELECT raise(ABORT, 'the log is append-only: an event can only come last');
END;

CREATE TRIGGER events_never_change BEFORE UPDATE ON events
BEGIN
    SELECT raise(ABORT, 'the log is append-only: an event cannot be changed');
END;

CREATE TRIGGER events_never_go BEFORE DELETE ON events
BEGIN
    SELECT raise(ABORT, 'the log is append-only: an event cannot be deleted');
END;

-- Long texts of events, each stored once in its space.
CREATE TABLE contents (
    space TEXT NOT NULL,
    hash  TEXT NOT NULL,
    data  BLOB NOT NULL,
    PRIMARY KEY (space, hash)
) STRICT;

CREATE TRIGGER contents_come_once BEFORE INSERT ON contents
WHEN EXISTS (SELECT 1 FROM contents WHERE space = NEW.space AND hash = NEW.hash)
  OR EXISTS (SELECT 1 FROM contents WHERE rowid = NEW.rowid)
BEGIN
    SELECT raise(ABORT, 'the log is append-only: a text cannot be replaced');
END;

CREATE TRIGGER contents_never_change BEFORE UPDATE ON contents
BEGIN
    SELECT raise(ABORT, 'the log is append-only: a text cannot be changed');
END;

CREATE TRIGGER contents_never_go BEFORE DELETE ON contents
BEGIN
    SELECT raise(ABORT, 'the log is append-only: a text cannot be deleted');
END;

-- The first answer to each command.
CREATE TABLE receipts (
    space   TEXT NOT NULL,
    command TEXT NOT NULL,
    says    TEXT NOT NULL,
    events  TEXT NOT NULL,
    PRIMARY KEY (space, command)
) STRICT, WITHOUT ROWID;

-- What a list shows of each agent, and the version that the next append has to expect.
CREATE TABLE agents (
    space   TEXT    NOT NULL,
    agent   TEXT    NOT NULL,
    version INTEGER NOT NULL,
    status  TEXT    NOT NULL,
    name    TEXT    NOT NULL,
    parent  TEXT,
    model   TEXT    NOT NULL,
    folder  TEXT    NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    tokens  INTEGER NOT NULL,
    exact   INTEGER NOT NULL,
    unread  INTEGER NOT NULL,
    working INTEGER NOT NULL,
    PRIMARY KEY (space, agent)
) STRICT, WITHOUT ROWID;

CREATE INDEX agents_by_age ON agents (space, created, agent);
CREATE INDEX agents_by_status ON agents (space, status, created, agent);
CREATE INDEX agents_by_parent ON agents (space, parent, created, agent) WHERE parent IS NOT NULL;
CREATE INDEX agents_by_name ON agents (space, name) WHERE name <> '';

-- Folds that need not be repeated; may be deleted at any time.
CREATE TABLE snapshots (
    space   TEXT    NOT NULL,
    agent   TEXT    NOT NULL,
    schema  TEXT    NOT NULL,
    version INTEGER NOT NULL,
    data    BLOB    NOT NULL,
    UNIQUE (space, agent, schema, version)
) STRICT;

-- Each space has a word index of its own, words_1, words_2 and so on: how rare a word is, and so
-- the rank of a hit, must not depend on what others have said. Made when its first word comes.
CREATE TABLE spaces (
    number INTEGER PRIMARY KEY,
    space  TEXT NOT NULL UNIQUE
) STRICT;

-- One row: the position up to which events are in the word indexes.
CREATE TABLE indexed (
    position INTEGER NOT NULL
) STRICT;

INSERT INTO indexed VALUES (0);
