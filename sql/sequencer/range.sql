-- Ranges of numbers: each is claimed by one atomic step, here or on another server, and handed out where it was claimed.
--
-- A claim is an INSERT into snowflake_ranges, or into a foreign table of another server's: the trigger takes the numbers
-- from the counter of the name, a sequence, and RETURNING brings them. The row is inserted, and the trigger runs, with the
-- rights of the owner: who may claim needs INSERT on snowflake_ranges and nothing else, cannot move a counter by hand, and
-- lends no right to the triggers of others. Nor may others make it the trigger of a table of their own.

CREATE FUNCTION snowflake_counter_take(counter regclass, n bigint) RETURNS bigint
VOLATILE STRICT PARALLEL UNSAFE LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_counter_take_wrapper';
COMMENT ON FUNCTION snowflake_counter_take(regclass, bigint) IS
    'takes the next n numbers of a sequence for good, and returns the first';
CREATE FUNCTION snowflake_counter_raise(counter regclass, "to" bigint) RETURNS void
VOLATILE STRICT PARALLEL UNSAFE LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_counter_raise_wrapper';
COMMENT ON FUNCTION snowflake_counter_raise(regclass, bigint) IS
    'makes every number of a sequence from now on greater than the given one';

CREATE TABLE snowflake_range_names (
    name text PRIMARY KEY CHECK (pg_catalog.length(name) BETWEEN 1 AND 255),
    size bigint NOT NULL CHECK (size BETWEEN 1 AND 4294967296),
    id uuid NOT NULL UNIQUE DEFAULT pg_catalog.gen_random_uuid(),
    counter regclass,
    claimed_from regclass,
    CHECK ((counter IS NULL) <> (claimed_from IS NULL))
);
CREATE TABLE snowflake_ranges (
    name text NOT NULL REFERENCES @extschema@.snowflake_range_names ON UPDATE CASCADE ON DELETE CASCADE,
    first bigint NOT NULL CHECK (first > 0),
    size bigint NOT NULL CHECK (size > 0),
    claimed_at timestamptz NOT NULL,
    claimed_by text NOT NULL,
    node_id integer,
    PRIMARY KEY (name, first),
    CHECK (first - 1 <= 9223372036854775807 - size)
);
ALTER TABLE snowflake_range_names OWNER TO @extowner@;
ALTER TABLE snowflake_ranges OWNER TO @extowner@;
-- pg_dump reads every table of a database, whoever runs it.
GRANT SELECT ON snowflake_range_names, snowflake_ranges TO PUBLIC;
SELECT pg_catalog.pg_extension_config_dump('@extschema@.snowflake_range_names'::pg_catalog.regclass, '');
SELECT pg_catalog.pg_extension_config_dump('@extschema@.snowflake_ranges'::pg_catalog.regclass, '');
COMMENT ON TABLE snowflake_range_names IS 'names whose ranges are claimed in this database';
COMMENT ON COLUMN snowflake_range_names.name IS 'name of the series of numbers';
COMMENT ON COLUMN snowflake_range_names.size IS 'how many numbers the sessions of this database claim at once';
COMMENT ON COLUMN snowflake_range_names.id IS 'tells this definition from another of the same name';
COMMENT ON COLUMN snowflake_range_names.counter IS 'sequence of the last number claimed, where the numbers are counted here';
COMMENT ON COLUMN snowflake_range_names.claimed_from IS 'foreign table that ranges are claimed from, where they are counted elsewhere';
COMMENT ON TABLE snowflake_ranges IS 'ranges that have been claimed, of the names that are counted here';
COMMENT ON COLUMN snowflake_ranges.name IS 'name of the series of numbers';
COMMENT ON COLUMN snowflake_ranges.first IS 'first number; a claim leaves it out';
COMMENT ON COLUMN snowflake_ranges.size IS 'how many numbers';
COMMENT ON COLUMN snowflake_ranges.claimed_at IS 'when it was claimed';
COMMENT ON COLUMN snowflake_ranges.claimed_by IS 'role that claimed it';
COMMENT ON COLUMN snowflake_ranges.node_id IS 'node number of the server that claimed it, as that server said';

CREATE FUNCTION snowflake_range_changed() RETURNS trigger
VOLATILE PARALLEL UNSAFE LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_range_changed_wrapper';
REVOKE ALL ON FUNCTION snowflake_range_changed() FROM PUBLIC;
COMMENT ON FUNCTION snowflake_range_changed() IS
    'trigger of snowflake_range_names: has every session look at its names again';
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON snowflake_range_names
    FOR EACH STATEMENT EXECUTE FUNCTION @extschema@.snowflake_range_changed();
-- Also where rows come by replication, here and below.
ALTER TABLE snowflake_range_names ENABLE ALWAYS TRIGGER changed;

CREATE FUNCTION snowflake_range_fill() RETURNS trigger
VOLATILE PARALLEL UNSAFE LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $fill$
DECLARE
    definition @extschema@.snowflake_range_names;
BEGIN
    SELECT * INTO definition FROM @extschema@.snowflake_range_names AS n WHERE n.name = NEW.name AND n.counter IS NOT NULL;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'range name "%" is not counted here', NEW.name
            USING ERRCODE = 'undefined_object', HINT = 'Create it with snowflake_range_create().';
    END IF;
    NEW.size := coalesce(NEW.size, definition.size);
    IF NEW.size NOT BETWEEN 1 AND 4294967296 THEN
        RAISE EXCEPTION 'size of a range must be in [1, 4294967296], got %', NEW.size
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Claim again when a range is used up.';
    END IF;
    NEW.first := @extschema@.snowflake_counter_take(definition.counter, NEW.size);
    NEW.claimed_at := clock_timestamp();
    NEW.claimed_by := session_user;
    RETURN NEW;
END
$fill$;
ALTER FUNCTION snowflake_range_fill() OWNER TO @extowner@;
REVOKE ALL ON FUNCTION snowflake_range_fill() FROM PUBLIC;
COMMENT ON FUNCTION snowflake_range_fill() IS
    'trigger of snowflake_ranges: takes the numbers of a claim';
CREATE TRIGGER first_missing BEFORE INSERT ON snowflake_ranges
    FOR EACH ROW WHEN (NEW.first IS NULL) EXECUTE FUNCTION @extschema@.snowflake_range_fill();
ALTER TABLE snowflake_ranges ENABLE ALWAYS TRIGGER first_missing;

CREATE FUNCTION snowflake_range_restore() RETURNS trigger
VOLATILE PARALLEL UNSAFE LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $restore$
DECLARE
    counter regclass;
BEGIN
    IF NOT pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN
        RAISE EXCEPTION 'only the owner of table % may say which numbers are claimed, got %', TG_RELID::regclass, NEW.first
            USING ERRCODE = 'insufficient_privilege', HINT = 'Leave the column first out.';
    END IF;
    SELECT n.counter INTO counter FROM @extschema@.snowflake_range_names AS n WHERE n.name = NEW.name;
    NEW.claimed_at := coalesce(NEW.claimed_at, clock_timestamp());
    NEW.claimed_by := coalesce(NEW.claimed_by, session_user);
    PERFORM @extschema@.snowflake_counter_raise(counter, NEW.first - 1 + NEW.size);
    RETURN NEW;
END
$restore$;
REVOKE ALL ON FUNCTION snowflake_range_restore() FROM PUBLIC;
COMMENT ON FUNCTION snowflake_range_restore() IS
    'trigger of snowflake_ranges: keeps the counter above ranges that a dump brings, or the owner';
-- By its name it comes before the other one, which sets what this one looks for.
CREATE TRIGGER first_given BEFORE INSERT ON snowflake_ranges
    FOR EACH ROW WHEN (NEW.first IS NOT NULL) EXECUTE FUNCTION @extschema@.snowflake_range_restore();
ALTER TABLE snowflake_ranges ENABLE ALWAYS TRIGGER first_given;

-- A dump does not say that the counter belongs to the table, and has the owner of where it was made.
CREATE FUNCTION snowflake_range_own() RETURNS trigger
VOLATILE PARALLEL UNSAFE LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $own$
BEGIN
    IF EXISTS (SELECT FROM pg_class AS c WHERE c.oid = NEW.counter AND c.relkind = 'S'
                AND c.relname = 'snowflake_range_' || replace(NEW.id::text, '-', ''))
        AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_class'::regclass AND d.objid = NEW.counter
                AND d.refclassid = 'pg_class'::regclass AND d.refobjid = TG_RELID AND d.deptype = 'a')
    THEN
        EXECUTE 'ALTER SEQUENCE ' || NEW.counter || ' OWNER TO '
            || (SELECT c.relowner::regrole FROM pg_class AS c WHERE c.oid = TG_RELID);
        EXECUTE 'ALTER SEQUENCE ' || NEW.counter || ' OWNED BY ' || TG_RELID::regclass || '.counter';
    END IF;
    RETURN NULL;
END
$own$;
REVOKE ALL ON FUNCTION snowflake_range_own() FROM PUBLIC;
COMMENT ON FUNCTION snowflake_range_own() IS
    'trigger of snowflake_range_names: has a counter that a dump brings belong to the table';
CREATE TRIGGER restored AFTER INSERT ON snowflake_range_names
    FOR EACH ROW WHEN (NEW.counter IS NOT NULL) EXECUTE FUNCTION @extschema@.snowflake_range_own();

CREATE FUNCTION snowflake_range_create(name text, size bigint, first bigint DEFAULT 1) RETURNS void
VOLATILE STRICT PARALLEL UNSAFE LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $create$
DECLARE
    id CONSTANT uuid := gen_random_uuid();
    counter CONSTANT text := $schema$@extschema@$schema$ || '.snowflake_range_' || replace(id::text, '-', '');
BEGIN
    IF length($1) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'range name must have 1 to 255 characters, got %', length($1)
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Pass the name of the series of numbers.';
    END IF;
    IF $2 NOT BETWEEN 1 AND 4294967296 THEN
        RAISE EXCEPTION 'size of a range must be in [1, 4294967296], got %', $2
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Pass how many numbers a session shall claim at once.';
    END IF;
    IF $3 < 1 THEN
        RAISE EXCEPTION 'first number must be at least 1, got %', $3
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Pass the first number that may be given.';
    END IF;
    EXECUTE 'CREATE SEQUENCE ' || counter || ' START ' || $3
        || $owned$ OWNED BY @extschema@.snowflake_range_names.counter$owned$;
    -- As for the tables.
    EXECUTE 'GRANT SELECT ON SEQUENCE ' || counter || ' TO PUBLIC';
    BEGIN
        INSERT INTO @extschema@.snowflake_range_names (name, size, id, counter) VALUES ($1, $2, id, counter::regclass);
    EXCEPTION WHEN unique_violation THEN
        RAISE EXCEPTION 'range name "%" exists already', $1
            USING ERRCODE = 'duplicate_object', HINT = 'Take another, or drop it with snowflake_range_drop().';
    END;
END
$create$;
ALTER FUNCTION snowflake_range_create(text, bigint, bigint) OWNER TO @extowner@;
REVOKE ALL ON FUNCTION snowflake_range_create(text, bigint, bigint) FROM PUBLIC;
COMMENT ON FUNCTION snowflake_range_create(text, bigint, bigint) IS
    'makes a series of numbers that is counted here and claimed in ranges of a size';

CREATE FUNCTION snowflake_range_attach(name text, size bigint, claimed_from regclass) RETURNS void
VOLATILE STRICT PARALLEL UNSAFE LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $attach$
BEGIN
    IF length($1) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'range name must have 1 to 255 characters, got %', length($1)
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Pass the name that the series has where it is counted.';
    END IF;
    IF $2 NOT BETWEEN 1 AND 4294967296 THEN
        RAISE EXCEPTION 'size of a range must be in [1, 4294967296], got %', $2
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Pass how many numbers a session shall claim at once.';
    END IF;
    IF NOT EXISTS (SELECT FROM pg_class AS c WHERE c.oid = $3 AND c.relkind = 'f') THEN
        RAISE EXCEPTION '% is not a foreign table', $3
            USING ERRCODE = 'wrong_object_type', HINT = 'Make one of the other server''s snowflake_ranges.';
    END IF;
    BEGIN
        INSERT INTO @extschema@.snowflake_range_names (name, size, claimed_from) VALUES ($1, $2, $3);
    EXCEPTION WHEN unique_violation THEN
        RAISE EXCEPTION 'range name "%" exists already', $1
            USING ERRCODE = 'duplicate_object', HINT = 'Drop it with snowflake_range_drop().';
    END;
END
$attach$;
ALTER FUNCTION snowflake_range_attach(text, bigint, regclass) OWNER TO @extowner@;
REVOKE ALL ON FUNCTION snowflake_range_attach(text, bigint, regclass) FROM PUBLIC;
COMMENT ON FUNCTION snowflake_range_attach(text, bigint, regclass) IS
    'makes a series of numbers of another server known here, with the size of the ranges to claim';

CREATE FUNCTION snowflake_range_drop(name text) RETURNS void
VOLATILE STRICT PARALLEL UNSAFE LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $drop$
DECLARE
    counter regclass;
BEGIN
    DELETE FROM @extschema@.snowflake_range_names AS n WHERE n.name = $1 RETURNING n.counter INTO counter;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'range name "%" does not exist', $1
            USING ERRCODE = 'undefined_object', HINT = 'See the table snowflake_range_names.';
    END IF;
    -- It may have been dropped by hand.
    IF EXISTS (SELECT FROM pg_class AS c WHERE c.oid = counter) THEN
        EXECUTE 'DROP SEQUENCE ' || counter;
    END IF;
END
$drop$;
ALTER FUNCTION snowflake_range_drop(text) OWNER TO @extowner@;
REVOKE ALL ON FUNCTION snowflake_range_drop(text) FROM PUBLIC;
COMMENT ON FUNCTION snowflake_range_drop(text) IS
    'forgets a series of numbers, and what has been claimed of it where it is counted here';
