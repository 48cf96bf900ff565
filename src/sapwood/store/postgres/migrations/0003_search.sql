-- Search: a projection of the log, made after the fact and never in the way of an append.

-- Terms are plain ASCII when they come. Words are stemmed, and none is too common to be found.
CREATE TEXT SEARCH DICTIONARY sapwood.stem (TEMPLATE = snowball, LANGUAGE = english);
CREATE TEXT SEARCH CONFIGURATION sapwood.sapwood (PARSER = default);
ALTER TEXT SEARCH CONFIGURATION sapwood.sapwood
    ADD MAPPING FOR asciiword WITH sapwood.stem;
ALTER TEXT SEARCH CONFIGURATION sapwood.sapwood
    ADD MAPPING FOR word, numword, int, uint, float, sfloat, version WITH simple;

-- `part` counts the pieces of a very long text. Space and agent are among the terms, so that the
-- index itself leaves out strangers.
CREATE TABLE sapwood.search (
    space   text COLLATE "C" NOT NULL,
    agent   text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    part    integer NOT NULL,
    at      bigint NOT NULL,
    terms   tsvector NOT NULL,
    PRIMARY KEY (space, agent, version, part)
) PARTITION BY HASH (space);

CREATE INDEX search_terms ON sapwood.search USING gin (terms);

-- How far the projection has come in each space.
CREATE TABLE sapwood.searchable (
    space    text COLLATE "C" PRIMARY KEY,
    tx       xid8 NOT NULL,
    position bigint NOT NULL
) WITH (fillfactor = 50);

DO $$
BEGIN
    FOR i IN 0..15 LOOP
        EXECUTE format(
            'CREATE TABLE sapwood.search_%1$s PARTITION OF sapwood.search
             FOR VALUES WITH (MODULUS 16, REMAINDER %1$s)', i);
    END LOOP;
END $$;
