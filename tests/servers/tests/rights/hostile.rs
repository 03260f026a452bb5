//! What a role prepares to get the rights of another.

use postgres::Client;

use crate::attempt;

/// What a trap says that has got another's rights.
pub const TRAPPED: &str = "the trap has the rights of";

/// A function that takes what it can get, and says so.
pub const TRAP: &str = "
CREATE FUNCTION NAMED.trap() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    BEGIN
        PERFORM pg_catalog.set_config('role', 'none', true);
    EXCEPTION WHEN OTHERS THEN
        NULL;
    END;
    IF current_user <> OWNER THEN
        RAISE EXCEPTION 'the trap has the rights of %', current_user;
    END IF;
    RETURN true;
END
$$;
CREATE FUNCTION NAMED.trap_row() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM NAMED.trap(); RETURN coalesce(NEW, OLD); END';
GRANT USAGE ON SCHEMA NAMED TO PUBLIC";

pub fn trap(client: &mut Client, schema: &str) {
    let user: String = client.query_one("SELECT current_user::text", &[]).expect("a user").get(0);
    let trap = TRAP.replace("NAMED", schema).replace("OWNER", &format!("'{user}'"));
    client.batch_execute(&trap).expect("a trap");
}

/// Makes a schema with functions, operators, types and relations that have the names of PostgreSQL's and of the
/// extensions, which are in another.
pub fn shadow(client: &mut Client, schema: &str, extensions: &str) {
    client.batch_execute(&format!("CREATE SCHEMA {schema}")).expect("a schema");
    trap(client, schema);
    // Functions of the extensions and of PostgreSQL, and operators, for all types that can be written down.
    let functions = "
        DO $do$
        DECLARE
            f record;
        BEGIN
            SET LOCAL search_path = pg_catalog;
            FOR f IN
                SELECT proname, oidvectortypes(proargtypes) AS types, prorettype::regtype AS result
                    FROM pg_proc
                    WHERE pronamespace IN ('pg_catalog'::regnamespace, 'EXTENSIONS'::regnamespace)
            LOOP
                BEGIN
                    EXECUTE format('CREATE FUNCTION SCHEMA.%I(%s) RETURNS %s LANGUAGE plpgsql AS %L',
                        f.proname, f.types, f.result, 'BEGIN PERFORM SCHEMA.trap(); RETURN NULL; END');
                EXCEPTION WHEN OTHERS THEN
                    NULL;
                END;
            END LOOP;
            FOR f IN
                SELECT oprname, oprcode, oprleft::regtype AS l, oprright::regtype AS r
                    FROM pg_operator WHERE oprnamespace = 'pg_catalog'::regnamespace AND oprleft <> 0
            LOOP
                BEGIN
                    EXECUTE format('CREATE OPERATOR SCHEMA.%s (FUNCTION = SCHEMA.%s, LEFTARG = %s, RIGHTARG = %s)',
                        f.oprname, f.oprcode::text, f.l, f.r);
                EXCEPTION WHEN OTHERS THEN
                    NULL;
                END;
            END LOOP;
            FOR f IN
                SELECT relname, oid::regclass AS relation FROM pg_class
                    WHERE relnamespace IN ('pg_catalog'::regnamespace, 'EXTENSIONS'::regnamespace) AND relkind IN ('r', 'v')
            LOOP
                BEGIN
                    EXECUTE format('CREATE VIEW SCHEMA.%I AS SELECT * FROM %s WHERE SCHEMA.trap()', f.relname, f.relation);
                    EXECUTE format('GRANT ALL ON SCHEMA.%I TO PUBLIC', f.relname);
                EXCEPTION WHEN OTHERS THEN
                    NULL;
                END;
            END LOOP;
        END
        $do$";
    let functions = functions.replace("SCHEMA", schema).replace("EXTENSIONS", extensions);
    client.batch_execute(&functions).expect("shadows");
    for name in ["text", "name", "oid", "regclass", "regtype", "regrole", "int8", "int4", "bool", "record"] {
        let domain = format!("CREATE DOMAIN {schema}.{name} AS pg_catalog.{name} CHECK ({schema}.trap())");
        attempt(client, &domain);
    }
    let count = format!(
        "SELECT (SELECT count(*) FROM pg_proc WHERE pronamespace = '{schema}'::regnamespace)
            + (SELECT count(*) FROM pg_operator WHERE oprnamespace = '{schema}'::regnamespace)"
    );
    let made: i64 = client.query_one(&count, &[]).expect("a count").get(0);
    assert!(made > 2000, "{made} shadows");
}

/// Code that a table's owner can add to it.
pub const TABLE_CODE: [&str; 12] = [
    "CREATE TRIGGER t BEFORE INSERT OR DELETE ON TABLE_OF_NODES FOR EACH ROW EXECUTE FUNCTION trap_row()",
    "CREATE TRIGGER t BEFORE INSERT OR DELETE ON TABLE_OF_NODES FOR EACH STATEMENT EXECUTE FUNCTION trap_row()",
    "CREATE CONSTRAINT TRIGGER t AFTER INSERT OR DELETE ON TABLE_OF_NODES DEFERRABLE INITIALLY DEFERRED
         FOR EACH ROW EXECUTE FUNCTION trap_row()",
    "CREATE RULE r AS ON INSERT TO TABLE_OF_NODES DO ALSO SELECT trap();
     CREATE RULE d AS ON DELETE TO TABLE_OF_NODES DO ALSO SELECT trap()",
    "ALTER TABLE TABLE_OF_NODES ENABLE ROW LEVEL SECURITY; ALTER TABLE TABLE_OF_NODES FORCE ROW LEVEL SECURITY;
     CREATE POLICY p ON TABLE_OF_NODES USING (trap()) WITH CHECK (trap())",
    "ALTER TABLE TABLE_OF_NODES ADD CHECK (trap())",
    "ALTER TABLE TABLE_OF_NODES ALTER claimed_at SET DEFAULT CASE WHEN trap() THEN now() END",
    "ALTER TABLE TABLE_OF_NODES ADD g boolean GENERATED ALWAYS AS (trap()) STORED",
    "CREATE INDEX i ON TABLE_OF_NODES ((trap()))",
    "CREATE INDEX i ON TABLE_OF_NODES (node_id) WHERE trap()",
    "CREATE DOMAIN d AS text CHECK (trap()); ALTER TABLE TABLE_OF_NODES ALTER server_name TYPE d",
    "CREATE TABLE child (CHECK (trap())) INHERITS (TABLE_OF_NODES);
     CREATE INDEX i ON child ((trap())); CREATE TRIGGER t BEFORE DELETE ON child FOR EACH ROW EXECUTE FUNCTION trap_row();
     INSERT INTO child (node_id, server_name) VALUES (8, 'child')",
];

/// Other tables in the place of the registry's.
pub const RETYPED_NODES: [&str; 8] = [
    "ALTER TABLE snowflake_nodes DROP CONSTRAINT snowflake_nodes_node_id_check;
     ALTER TABLE snowflake_nodes ALTER node_id TYPE bigint USING 3735928559;
     INSERT INTO snowflake_nodes VALUES (3735928559, 'there')",
    "ALTER TABLE snowflake_nodes DROP CONSTRAINT snowflake_nodes_node_id_check;
     ALTER TABLE snowflake_nodes ALTER node_id TYPE text; INSERT INTO snowflake_nodes VALUES ('x', 'there')",
    "ALTER TABLE snowflake_nodes DROP CONSTRAINT snowflake_nodes_node_id_check;
     INSERT INTO snowflake_nodes VALUES (5000, 'there')",
    "ALTER TABLE snowflake_nodes DROP CONSTRAINT snowflake_nodes_pkey; ALTER TABLE snowflake_nodes ALTER node_id DROP NOT NULL;
     INSERT INTO snowflake_nodes VALUES (NULL, 'there')",
    "ALTER TABLE snowflake_nodes DROP CONSTRAINT snowflake_nodes_server_name_check;
     ALTER TABLE snowflake_nodes ALTER server_name TYPE bigint USING 1",
    "ALTER TABLE snowflake_nodes RENAME node_id TO other",
    "ALTER TABLE snowflake_nodes DROP server_name",
    "ALTER TABLE snowflake_nodes RENAME TO other; CREATE VIEW snowflake_nodes AS SELECT 'x'::text AS node_id, 1 AS server_name",
];
