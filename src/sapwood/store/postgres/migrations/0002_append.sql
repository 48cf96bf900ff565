-- The two ways to append, each one call and so one transaction of one statement.
--
-- Columns of many rows arrive as one text, split at a mark that none of them holds: reading that
-- takes a fraction of what an array parameter costs on both sides.
--
-- The order inside is what keeps writers from deadlock: first the agents, then receipts, then
-- contents, each sorted by its key by the caller. Agents come first for the tail as well: a
-- transaction has no number before it has seen the version that it goes on from, so later
-- versions of an agent never have earlier numbers.

-- One log, one actor, one command: a turn of a single agent, which is most of what happens.
CREATE FUNCTION sapwood.append_one(
    mark text,
    a_space text, a_agent text, a_expected bigint, a_version bigint, a_facts text,
    a_name text, a_parent text, a_status text, a_created bigint,
    r_command text, r_data text,
    c_hash bytea[], c_data bytea[],
    e_actor text, e_kind text, e_data text, e_contents text, e_at text
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF a_expected = 0 THEN
        INSERT INTO sapwood.agents (space, agent, version, facts, name, parent, status, created)
        VALUES (a_space, a_agent, a_version, a_facts, a_name, a_parent, a_status, a_created);
    ELSE
        UPDATE sapwood.agents
        SET version = a_version, facts = a_facts, name = a_name, parent = a_parent,
            status = a_status, created = a_created
        WHERE space = a_space AND agent = a_agent AND version = a_expected;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'A log is not at the expected version.' USING ERRCODE = 'SW409';
        END IF;
    END IF;
    INSERT INTO sapwood.receipts (space, command, data) VALUES (a_space, r_command, r_data);
    IF c_hash IS NOT NULL THEN
        INSERT INTO sapwood.contents (space, hash, data)
        SELECT a_space, content.hash, content.data
        FROM unnest(c_hash, c_data) AS content (hash, data)
        ON CONFLICT DO NOTHING;
    END IF;
    INSERT INTO sapwood.events (space, agent, version, kind, data, contents, at, actor, command)
    SELECT a_space, a_agent, a_expected + event.place, event.kind, event.data,
           decode(nullif(event.contents, ''), 'hex'), event.at, e_actor, r_command
    FROM unnest(
        string_to_array(e_kind, mark),
        string_to_array(e_data, mark),
        string_to_array(e_contents, mark),
        string_to_array(e_at, mark)::bigint[]
    ) WITH ORDINALITY AS event (kind, data, contents, at, place);
END $$;

-- Any number of commits together. A column of one empty text arrives as no column at all, hence
-- the coalesce.
CREATE FUNCTION sapwood.append_many(
    mark text,
    a_space text, a_agent text, a_expected text, a_version text, a_facts text,
    a_name text, a_parent text, a_status text, a_created text,
    r_space text, r_command text, r_data text,
    c_space text[], c_hash bytea[], c_data bytea[],
    e_space text, e_agent text, e_version text, e_kind text, e_data text,
    e_contents text, e_at text, e_actor text, e_command text
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    spaces    text[]   := string_to_array(a_space, mark);
    agents    text[]   := string_to_array(a_agent, mark);
    expecteds bigint[] := string_to_array(a_expected, mark);
    versions  bigint[] := string_to_array(a_version, mark);
    facts_now text[]   := string_to_array(a_facts, mark);
    names     text[]   := string_to_array(a_name, mark);
    parents   text[]   := string_to_array(a_parent, mark);
    statuses  text[]   := string_to_array(a_status, mark);
    createds  bigint[] := string_to_array(a_created, mark);
BEGIN
    -- A loop, because no plan of a join promises in which order it locks rows.
    FOR i IN 1..coalesce(cardinality(expecteds), 0) LOOP
        IF expecteds[i] = 0 THEN
            INSERT INTO sapwood.agents (space, agent, version, facts, name, parent, status, created)
            VALUES (
                coalesce(spaces[i], ''), coalesce(agents[i], ''), versions[i], facts_now[i],
                coalesce(names[i], ''), nullif(parents[i], ''), statuses[i], createds[i]
            );
        ELSE
            UPDATE sapwood.agents AS known
            SET version = versions[i], facts = facts_now[i], name = coalesce(names[i], ''),
                parent = nullif(parents[i], ''), status = statuses[i], created = createds[i]
            WHERE known.space = coalesce(spaces[i], '') AND known.agent = coalesce(agents[i], '')
                AND known.version = expecteds[i];
            IF NOT FOUND THEN
                RAISE EXCEPTION 'A log is not at the expected version.' USING ERRCODE = 'SW409';
            END IF;
        END IF;
    END LOOP;
    INSERT INTO sapwood.receipts (space, command, data)
    SELECT coalesce(receipt.space, ''), coalesce(receipt.command, ''), receipt.data
    FROM unnest(
        string_to_array(r_space, mark),
        string_to_array(r_command, mark),
        string_to_array(r_data, mark)
    ) AS receipt (space, command, data);
    IF c_hash IS NOT NULL THEN
        INSERT INTO sapwood.contents (space, hash, data)
        SELECT content.space, content.hash, content.data
        FROM unnest(c_space, c_hash, c_data) AS content (space, hash, data)
        ON CONFLICT DO NOTHING;
    END IF;
    INSERT INTO sapwood.events (space, agent, version, kind, data, contents, at, actor, command)
    SELECT coalesce(event.space, ''), coalesce(event.agent, ''), event.version, event.kind,
           event.data, decode(nullif(event.contents, ''), 'hex'), event.at, event.actor,
           coalesce(event.command, '')
    FROM unnest(
        string_to_array(e_space, mark),
        string_to_array(e_agent, mark),
        string_to_array(e_version, mark)::bigint[],
        string_to_array(e_kind, mark),
        string_to_array(e_data, mark),
        string_to_array(e_contents, mark),
        string_to_array(e_at, mark)::bigint[],
        string_to_array(e_actor, mark),
        string_to_array(e_command, mark)
    ) AS event (space, agent, version, kind, data, contents, at, actor, command);
END $$;
