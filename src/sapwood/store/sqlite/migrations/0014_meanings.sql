-- What events are about, for search by meaning: a signature of 32 bytes for each event with words, in
-- rows of many events. The rows of a space have no gaps between them. They are made of the events by a
-- search, if the extra is installed, and are deleted when something of the space is erased. Encrypted
-- spaces have none.
CREATE TABLE meanings (
    space      TEXT    NOT NULL,
    first      INTEGER NOT NULL, -- the positions of the first and of the last event that was read
    last       INTEGER NOT NULL,
    events     INTEGER NOT NULL, -- how many of them have a signature
    positions  BLOB    NOT NULL, -- of these, 8 bytes each
    signatures BLOB    NOT NULL,
    PRIMARY KEY (space, first)
) STRICT;
