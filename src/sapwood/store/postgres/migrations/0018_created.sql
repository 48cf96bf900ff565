-- oldest: 7
-- A commit holds only for the agent that its program knows. The id of an erased agent may be used
-- again, and the new agent may be at the version that the program expects. `created` tells them
-- apart, because it never changes. It is 0 where it is not known: in a program that cannot read the
-- first event of an agent.
DO $$
DECLARE
    before text := 'AND known.version = expecteds[i];';
    body text := pg_get_functiondef('sapwood.append_listed'::regproc);
BEGIN
    IF position(before in body) = 0 THEN
        RAISE EXCEPTION 'The function sapwood.append_listed is not the one of the migrations before.';
    END IF;
    EXECUTE replace(
        body, before, 'AND known.version = expecteds[i]
                AND (createds[i] = 0 OR known.created IN (0, createds[i]));'
    );
END $$;
