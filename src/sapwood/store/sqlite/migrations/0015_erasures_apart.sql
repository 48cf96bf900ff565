-- Each erasure has agents of its own, whatever another one that is not finished names: an id can be
-- erased again while an earlier erasure still has to delete what is outside of the database.
ALTER TABLE erasing RENAME TO erasing_before;
CREATE TABLE erasing (
    erasure TEXT    NOT NULL,
    space   TEXT    NOT NULL,
    agent   TEXT    NOT NULL,
    deleted INTEGER NOT NULL DEFAULT 0,
    outside TEXT    NOT NULL DEFAULT '{}',
    PRIMARY KEY (erasure, space, agent)
) STRICT, WITHOUT ROWID;
INSERT INTO erasing SELECT erasure, space, agent, deleted, outside FROM erasing_before;
DROP TABLE erasing_before;
