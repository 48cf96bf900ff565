-- oldest: 7
-- Erasures are apart from each other: each has agents and long texts of its own, whatever another
-- one that is not finished names. An id can be erased again while an earlier erasure still has to
-- delete what is outside of the database, and two that share a text both look for it at their end.
ALTER TABLE sapwood.erasing DROP CONSTRAINT erasing_pkey, ADD PRIMARY KEY (erasure, space, agent);
DROP INDEX sapwood.erasing_by_erasure;
CREATE INDEX erasing_by_agent ON sapwood.erasing (space, agent);
ALTER TABLE sapwood.orphans DROP CONSTRAINT orphans_pkey, ADD PRIMARY KEY (erasure, space, hash);

DO $$
DECLARE
    place record;
    body text;
BEGIN
    FOR place IN SELECT * FROM (VALUES
        ('sapwood.erase_agent', 'SET deleted = true, outside = p_outside
    WHERE space', 'SET deleted = true, outside = p_outside
    WHERE erasure = p_erasure AND space'),
        ('sapwood.erase_contents', 'WHERE orphan.space = p_space AND',
         'WHERE orphan.erasure = p_erasure AND orphan.space = p_space AND'),
        ('sapwood.erase_contents', 'DELETE FROM sapwood.orphans WHERE space = p_space;',
         'DELETE FROM sapwood.orphans WHERE erasure = p_erasure AND space = p_space;')
    ) AS known (function, before, after) LOOP
        body := pg_get_functiondef(place.function::regproc);
        IF position(place.before in body) = 0 THEN
            RAISE EXCEPTION 'The function % is not the one of the migrations before.', place.function;
        END IF;
        EXECUTE replace(body, place.before, place.after);
    END LOOP;
END $$;

-- Deletes what a space has beside its agents. If somebody has begun anew in the space, this is
-- theirs: then only the texts of what was erased go. The first lock is the one that every new agent
-- shares until the end of its transaction.
CREATE OR REPLACE FUNCTION sapwood.clear_space(p_erasure text, p_space text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(1398106213, hashtext(p_space));
    IF EXISTS (SELECT FROM sapwood.agents WHERE space = p_space) THEN
        PERFORM sapwood.erase_contents(p_erasure, p_space);
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock(1398106212, hashtext(p_space));
    PERFORM set_config('sapwood.erasure', p_erasure, true);
    DELETE FROM sapwood.receipts WHERE space = p_space;
    DELETE FROM sapwood.contents AS content WHERE space = p_space AND NOT EXISTS (
        SELECT FROM sapwood.events AS event
        WHERE event.space = p_space AND event.contents IS NOT NULL
            AND sapwood.hashes(event.contents) @> ARRAY[content.hash]
    );
    DELETE FROM sapwood.space_keys WHERE space = p_space;
    DELETE FROM sapwood.cursor_places WHERE space = p_space;
    DELETE FROM sapwood.live_words WHERE space = p_space;
    DELETE FROM sapwood.meanings WHERE space = p_space;
    DELETE FROM sapwood.gaps WHERE space = p_space;
    DELETE FROM sapwood.orphans WHERE space = p_space;
    DELETE FROM sapwood.searchable WHERE space = p_space;
    PERFORM set_config('sapwood.erasure', '', true);
END $$;
