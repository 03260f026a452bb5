-- Runs first. The other cases, in any order, use what it makes.
--
-- They need a superuser and a server that generates no other ids meanwhile. The roles they make begin with
-- regress_; settings they change with ALTER SYSTEM are reset.

-- What CREATE EXTENSION has to say depends on the server: notice.sql looks at it.
SET client_min_messages = error;
CREATE EXTENSION snowflake;
RESET client_min_messages;

-- What a user is told when a command fails, after its SQLSTATE. What matches the mask is shown as #.
CREATE FUNCTION error_of(command text, mask text DEFAULT NULL) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
    code text;
    message text;
    detail text;
    hint text;
BEGIN
    EXECUTE command;
    RETURN NEXT 'no error';
EXCEPTION WHEN query_canceled OR OTHERS THEN
    GET STACKED DIAGNOSTICS
        code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    IF mask IS NOT NULL THEN
        message := regexp_replace(message, mask, '#', 'g');
    END IF;
    RETURN NEXT code || ': ' || message;
    IF detail <> '' THEN
        RETURN NEXT 'DETAIL: ' || detail;
    END IF;
    IF hint <> '' THEN
        RETURN NEXT 'HINT: ' || hint;
    END IF;
END
$$;

-- The lines of a plan.
CREATE FUNCTION plan_of(query text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query;
END
$$;

-- Waits until the clock has passed the last id. It may be ahead after snowflake_advance(), and after a start, which the
-- generator makes with the first id.
CREATE PROCEDURE wait_for_clock()
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM snowflake_next();
    WHILE (SELECT ahead_ms > 0 FROM snowflake_status()) LOOP
        PERFORM pg_sleep(0.005);
    END LOOP;
END
$$;

-- Waits until the clock has passed the ceiling's millisecond, so that the next id needs a higher one.
CREATE PROCEDURE wait_for_ceiling()
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM snowflake_next();
    WHILE (SELECT ceiling_at + interval '1 ms' > clock_timestamp() FROM snowflake_status()) LOOP
        PERFORM pg_sleep(0.005);
    END LOOP;
END
$$;

-- Uses up all slots for the progress of replication origins but the number wanted; NULL gives all of them back.
CREATE PROCEDURE leave_free_slots(wanted bigint)
LANGUAGE sql AS $$
    SELECT pg_replication_origin_drop(roname) FROM pg_replication_origin WHERE roname LIKE 'regress\_snowflake\_%';
    SELECT pg_replication_origin_create('regress_snowflake_' || n)
    FROM snowflake_status(), generate_series(1, free_origin_slots - wanted) AS n;
    SELECT pg_replication_origin_advance(roname, '0/1') FROM pg_replication_origin WHERE roname LIKE 'regress\_snowflake\_%';
$$;

-- Commands that wait until a setting has a value. What a reload brings takes effect between two commands, so these are
-- many, to be run with \gexec: each sleeps as long as the reload has not come, ten seconds in all at most.
CREATE FUNCTION until_it_is(name text, value text) RETURNS SETOF text
LANGUAGE sql AS $$
    SELECT format('DO %L', format('BEGIN IF current_setting(%L) <> %L THEN PERFORM pg_sleep(0.05); END IF; END', name, value))
    FROM generate_series(1, 200)
$$;
