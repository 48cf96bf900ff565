-- The index of words in parts by agent, so that one big space is not one part.
--
-- The index is made of the events, so it is made anew: nothing is copied while others wait for the
-- table. Workers index in the background; until they are done, a search finds what they have
-- reached, and what is newest. The table has the same name and columns as before, so workers of an
-- earlier version go on with it.
CREATE TEMPORARY TABLE search_rights ON COMMIT DROP AS
SELECT given.grantee::regrole::text AS grantee, given.privilege_type AS privilege
FROM pg_class, aclexplode(relacl) AS given
WHERE pg_class.oid = 'sapwood.search'::regclass
    AND given.grantee <> 0 AND given.grantee <> pg_class.relowner;

DROP TABLE sapwood.search;

CREATE TABLE sapwood.search (
    space   text COLLATE "C" NOT NULL,
    agent   text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    part    integer NOT NULL,
    at      bigint NOT NULL,
    terms   tsvector NOT NULL,
    PRIMARY KEY (agent, version, part, space)
) PARTITION BY HASH (agent);

CREATE INDEX search_terms ON sapwood.search USING gin (terms);

DO $$
DECLARE
    kept record;
BEGIN
    FOR i IN 0..15 LOOP
        EXECUTE format(
            'CREATE TABLE sapwood.search_%1$s PARTITION OF sapwood.search
             FOR VALUES WITH (MODULUS 16, REMAINDER %1$s)', i);
    END LOOP;
    FOR kept IN SELECT * FROM search_rights LOOP
        EXECUTE format('GRANT %s ON sapwood.search TO %s', kept.privilege, kept.grantee);
    END LOOP;
END $$;

-- As before: samples of the words of users are not kept for the planner.
ALTER TABLE sapwood.search ALTER COLUMN terms SET STATISTICS 0;

DELETE FROM sapwood.searchable;
