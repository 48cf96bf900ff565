-- The keys of encrypted spaces, wrapped by a master key that is not in the database. A space is
-- encrypted from its first agent on, or not at all. `id` names the key, `master` the master key.
CREATE TABLE space_keys (
    space   TEXT NOT NULL PRIMARY KEY,
    id      TEXT NOT NULL,
    master  TEXT NOT NULL,
    wrapped BLOB NOT NULL
) STRICT, WITHOUT ROWID;
