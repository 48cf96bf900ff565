-- The words of replies that are still arriving, one row for each agent. The row is replaced while
-- words arrive, and goes in the commit that ends the reply. Encrypted in encrypted spaces.
CREATE TABLE live_words (
    space   TEXT    NOT NULL,
    agent   TEXT    NOT NULL,
    asked   INTEGER NOT NULL, -- the version of the model call
    command TEXT    NOT NULL, -- of the last words
    data    TEXT    NOT NULL,
    PRIMARY KEY (space, agent)
) STRICT;
