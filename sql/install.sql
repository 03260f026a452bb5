-- The end of the install script: who may do what, what each function is for, and what the operator should know
-- before the first id.

-- These are parsed here, and know the functions that they call by OID. adopt.sql and audit.sql do the work.

-- The id is taken before the table is locked, and every later id is greater. Where ids have been stored while the call
-- waited for the table, it is refused, and succeeds when it is made again.
CREATE FUNCTION snowflake_adopt(table_name regclass, column_name name, dry_run boolean DEFAULT false)
RETURNS SETOF text
VOLATILE STRICT PARALLEL UNSAFE LANGUAGE sql
BEGIN ATOMIC
    SELECT line FROM @extschema@.snowflake_adopt_before(table_name, column_name, dry_run, @extschema@.snowflake_next()) AS line;
END;

-- The lowest number that counts as an id is that of an hour after the epoch, 3600000 ms << 22, unless a time is given. The
-- lowest id of a node has its first time.
CREATE FUNCTION snowflake_audit(
    table_name regclass, column_name name, since timestamptz DEFAULT NULL,
    OUT kind text, OUT node_id integer, OUT ids bigint, OUT first_at timestamptz, OUT last_at timestamptz,
    OUT future_ids bigint, OUT unissued_ids bigint
) RETURNS SETOF record
STABLE PARALLEL UNSAFE LANGUAGE sql
BEGIN ATOMIC
    SELECT CASE WHEN c.node OPERATOR(pg_catalog.>=) 0 THEN 'snowflake' WHEN c.node OPERATOR(pg_catalog.=) -1 THEN 'number' ELSE 'negative' END,
        CASE WHEN c.node OPERATOR(pg_catalog.>=) 0 THEN c.node END, c.numbers,
        CASE WHEN c.node OPERATOR(pg_catalog.>=) 0 THEN @extschema@.snowflake_decode_timestamp(c.lowest, e.epoch_ms) END,
        CASE WHEN c.node OPERATOR(pg_catalog.>=) 0 THEN @extschema@.snowflake_decode_timestamp(c.highest, e.epoch_ms) END,
        CASE WHEN c.node OPERATOR(pg_catalog.>=) 0 THEN c.in_future END,
        CASE WHEN c.node OPERATOR(pg_catalog.=) s.node_id AND s.last_id IS NOT NULL THEN c.above_last WHEN c.node OPERATOR(pg_catalog.>=) 0 AND c.node OPERATOR(pg_catalog.<>) s.node_id THEN 0 END
    FROM @extschema@.snowflake_status() AS s,
        @extschema@.snowflake_epoch_ms() AS e (epoch_ms),
        LATERAL @extschema@.snowflake_audit_counts(table_name, column_name,
            coalesce(@extschema@.snowflake_min_id(since, e.epoch_ms), 15099494400000),
            @extschema@.snowflake_max_id(pg_catalog.clock_timestamp(), e.epoch_ms), s.last_id) AS c
    ORDER BY c.node OPERATOR(pg_catalog.<) 0, pg_catalog.abs(c.node);
END;

-- They move the generator of the whole server.
REVOKE ALL ON FUNCTION snowflake_advance(bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION snowflake_observe(bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION snowflake_next(bigint) FROM PUBLIC;

COMMENT ON FUNCTION snowflake_next() IS
    'the next snowflake id, greater than all returned before the call; made to be a column default';
COMMENT ON FUNCTION snowflake_next_batch(bigint) IS
    'the next n snowflake ids, in order';
COMMENT ON FUNCTION snowflake_advance(bigint) IS
    'makes every snowflake id from now on greater than the given one, through restart and failover';
COMMENT ON FUNCTION snowflake_next(bigint) IS
    'the next snowflake id, greater than the given one, whichever server made that';
COMMENT ON FUNCTION snowflake_observe(bigint) IS
    'makes every snowflake id from now on greater than the given one, whichever server made that';

COMMENT ON FUNCTION snowflake_generate(bigint) IS
    'a snowflake id of this moment with a sequence number of the caller''s own, and the node and epoch in force';
COMMENT ON FUNCTION snowflake_generate(bigint, bigint) IS
    'a snowflake id of this moment with a sequence and node number of the caller''s own, and the epoch in force';
COMMENT ON FUNCTION snowflake_generate(bigint, bigint, bigint) IS
    'a snowflake id of this moment with a sequence number, node number and epoch of the caller''s own';
COMMENT ON FUNCTION snowflake_try_generate(bigint) IS
    'like snowflake_generate, with a WARNING and NULL in the place of an ERROR';
COMMENT ON FUNCTION snowflake_try_generate(bigint, bigint) IS
    'like snowflake_generate, with a WARNING and NULL in the place of an ERROR';
COMMENT ON FUNCTION snowflake_try_generate(bigint, bigint, bigint) IS
    'like snowflake_generate, with a WARNING and NULL in the place of an ERROR';
COMMENT ON FUNCTION snowflake_compose(bigint, bigint, bigint) IS
    'the snowflake id of a Unix time in milliseconds, a node number and a sequence number, with the epoch in force';
COMMENT ON FUNCTION snowflake_compose(bigint, bigint, bigint, bigint) IS
    'the snowflake id of a Unix time in milliseconds, a node number, a sequence number and an epoch';

COMMENT ON FUNCTION snowflake_decode_timestamp_ms(bigint) IS
    'Unix milliseconds at which a snowflake id was made, with the epoch in force';
COMMENT ON FUNCTION snowflake_decode_timestamp_ms(bigint, bigint) IS
    'Unix milliseconds at which a snowflake id of the given epoch was made';
COMMENT ON FUNCTION snowflake_decode_timestamp(bigint) IS
    'time at which a snowflake id was made, with the epoch in force';
COMMENT ON FUNCTION snowflake_decode_timestamp(bigint, bigint) IS
    'time at which a snowflake id of the given epoch was made';
COMMENT ON FUNCTION snowflake_decode_node_id(bigint) IS
    'node number of a snowflake id';
COMMENT ON FUNCTION snowflake_decode_sequence_id(bigint) IS
    'sequence number of a snowflake id within its millisecond';
COMMENT ON FUNCTION snowflake_decode(bigint) IS
    'all fields of a snowflake id, with the epoch in force';
COMMENT ON FUNCTION snowflake_decode(bigint, bigint) IS
    'all fields of a snowflake id of the given epoch';

COMMENT ON FUNCTION snowflake_decode_as(bigint, text) IS
    'all fields of an id that another generator made; snowflake_layouts() lists whose';
COMMENT ON FUNCTION snowflake_layouts() IS
    'the layouts that snowflake_decode_as() knows';

COMMENT ON FUNCTION snowflake_to_base32(bigint) IS
    'a snowflake id as 13 characters of Crockford''s base 32, which sort as the ids do';
COMMENT ON FUNCTION snowflake_from_base32(text) IS
    'the snowflake id of a text in Crockford''s base 32';
COMMENT ON FUNCTION snowflake_to_uuid(bigint) IS
    'a snowflake id as a UUID of version 7, with the epoch in force';
COMMENT ON FUNCTION snowflake_to_uuid(bigint, bigint) IS
    'a snowflake id of the given epoch as a UUID of version 7';
COMMENT ON FUNCTION snowflake_from_uuid(uuid) IS
    'the snowflake id that a UUID was made from, with the epoch in force';
COMMENT ON FUNCTION snowflake_from_uuid(uuid, bigint) IS
    'the snowflake id of the given epoch that a UUID was made from';
COMMENT ON FUNCTION snowflake_encrypt(bigint, bytea) IS
    'the number that stands for a snowflake id outside, for a key of 32 bytes';
COMMENT ON FUNCTION snowflake_decrypt(bigint, bytea) IS
    'the snowflake id that a number from snowflake_encrypt() stands for';

COMMENT ON FUNCTION snowflake_min_id(timestamptz) IS
    'lowest snowflake id of an instant''s millisecond, with the epoch in force';
COMMENT ON FUNCTION snowflake_min_id(timestamptz, bigint) IS
    'lowest snowflake id of an instant''s millisecond, for the given epoch';
COMMENT ON FUNCTION snowflake_max_id(timestamptz) IS
    'highest snowflake id of an instant''s millisecond, with the epoch in force';
COMMENT ON FUNCTION snowflake_max_id(timestamptz, bigint) IS
    'highest snowflake id of an instant''s millisecond, for the given epoch';

COMMENT ON FUNCTION snowflake_current_millis() IS
    'milliseconds from the epoch in force to now';
COMMENT ON FUNCTION snowflake_current_millis(bigint) IS
    'milliseconds from the given epoch to now';
COMMENT ON FUNCTION snowflake_node() IS
    'node number in force';
COMMENT ON FUNCTION snowflake_epoch_ms() IS
    'epoch in force, in Unix milliseconds';
COMMENT ON FUNCTION snowflake_status() IS
    'state of this server''s generator';

COMMENT ON FUNCTION snowflake_adopt_before(regclass, name, boolean, bigint) IS
    'what snowflake_adopt() does, with an id that was taken before';
COMMENT ON FUNCTION snowflake_audit_counts(regclass, name, bigint, bigint, bigint) IS
    'what snowflake_audit() counts, given what tells the numbers apart';
COMMENT ON FUNCTION snowflake_adopt(regclass, name, boolean) IS
    'makes an integer column bigint DEFAULT snowflake_next(), with the columns that reference it; returns the statements';
COMMENT ON FUNCTION snowflake_audit(regclass, name, timestamptz) IS
    'the nodes that have made the ids of a column, with counts, times, and numbers that cannot be ids';

COMMENT ON TABLE snowflake_nodes IS
    'registry of node numbers, one for each server name';
COMMENT ON COLUMN snowflake_nodes.node_id IS
    'node number, for the setting snowflake.node of the server';
COMMENT ON COLUMN snowflake_nodes.server_name IS
    'name of the server, as it was given to snowflake_node_claim()';
COMMENT ON COLUMN snowflake_nodes.claimed_at IS
    'when the number was claimed';
COMMENT ON FUNCTION snowflake_nodes_change(regclass, text, boolean) IS
    'claims or releases a node number in a registry';
COMMENT ON FUNCTION snowflake_node_claim(text) IS
    'node number of a server in the registry: the one it has, or the lowest that is free';
COMMENT ON FUNCTION snowflake_node_release(text) IS
    'takes a server out of the registry and returns the node number that is free now';

-- The ceiling of ids lives in the progress of replication origin 65534, which must be nobody else's, and takes
-- one of the server's slots for origins.
--
-- The script of a trusted extension runs as superuser with a schema of the user's choice in its search path, so
-- nothing may be looked up there: not even a function that the user can make a better match than the system's.
DO $$
DECLARE
    ceiling_origin CONSTANT oid := 65534;
    slots text := 'max_replication_slots';
    taken_by name;
    free_slots integer;
    libraries text;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    -- While an extension's script runs, PostgreSQL shows nothing below WARNING unless it is asked to. Who wants even
    -- less is left alone.
    IF current_setting('client_min_messages') = 'warning' THEN
        PERFORM set_config('client_min_messages', 'notice', true);
    END IF;

    -- A library that is preloaded fixes the epoch when the server starts.
    IF current_setting('server_version_num')::integer < 170000
        AND (SELECT context FROM pg_settings WHERE name = 'snowflake.epoch') <> 'postmaster' THEN
        -- PostgreSQL shows this setting only to roles that may read all settings.
        IF pg_has_role(session_user, 'pg_read_all_settings', 'USAGE') THEN
            libraries := nullif(current_setting('shared_preload_libraries'), '');
        END IF;
        RAISE WARNING 'snowflake must be loaded via shared_preload_libraries to generate ids'
            USING HINT = format('Add the line shared_preload_libraries = %L to postgresql.conf%s and restart the server.',
                concat_ws(', ', libraries, 'snowflake'),
                CASE WHEN libraries IS NULL THEN ' (with what is there already, separated by commas)' END);
    END IF;

    SELECT roname INTO taken_by FROM pg_replication_origin WHERE roident = ceiling_origin;
    IF FOUND THEN
        RAISE EXCEPTION 'replication origin "%" has the identifier %, which snowflake needs', taken_by, ceiling_origin
            USING ERRCODE = 'object_in_use',
                HINT = 'Drop it with pg_replication_origin_drop and create it again: it will get a free identifier.';
    END IF;

    IF current_setting('server_version_num')::integer >= 180000 THEN
        slots := 'max_active_replication_origins';
    END IF;
    SELECT current_setting(slots)::integer - count(*) FILTER (WHERE local_id <> ceiling_origin)
        INTO free_slots FROM pg_show_replication_origin_status();
    IF free_slots < 1 THEN
        RAISE WARNING 'no replication origin slot is free, so no snowflake ids can be generated'
            USING HINT = format('Raise %s here and on every standby, and restart.', slots);
    ELSIF free_slots = 1 THEN
        RAISE NOTICE 'snowflake takes the last free replication origin slot'
            USING HINT = format('Before another subscription is made, raise %s here and on every standby.', slots);
    END IF;

    IF (SELECT source FROM pg_settings WHERE name = 'snowflake.node') = 'default' THEN
        RAISE NOTICE 'snowflake.node is not set, ids will carry the default node number %',
                current_setting('snowflake.node')
            USING HINT = 'Before a second server generates ids, give each its own: ALTER SYSTEM SET snowflake.node = ..., then SELECT pg_reload_conf().';
    END IF;
END
$$;
