//! Every function of both extensions, with arguments that it takes.

/// Which roles can call a function without an error.
#[derive(Clone, Copy)]
enum May {
    All,
    /// It moves the generator for others.
    Superuser,
    /// A role with rights on the registry's table. A superuser is refused where another role owns the extension's schema.
    Registrar,
    /// Any role. A superuser is refused where another role owns the extension's schema.
    AllByName,
}

use May::{All, AllByName, Registrar, Superuser};

pub struct Call {
    /// As `regprocedure` shows it.
    pub signature: &'static str,
    arguments: &'static str,
    may: May,
}

impl Call {
    const fn of(may: May, signature: &'static str, arguments: &'static str) -> Self {
        Self { signature, arguments, may }
    }

    fn name(&self) -> &'static str {
        self.signature.split_once('(').expect("a signature").0
    }

    /// Nothing in it is looked up in the search path.
    pub fn statement(&self, schema: &str, role: &str) -> String {
        let arguments = self.arguments.replace("ROLE", role).replace("SCHEMA", schema);
        format!("SELECT * FROM {schema}.{}({arguments})", self.name())
    }

    /// The SQLSTATE that a role gets, where the schema belongs to the owner of the database.
    pub fn expected(&self, role: &str) -> &'static str {
        let may = match self.may {
            All => true,
            Superuser => role == "postgres",
            Registrar => role == "ext",
            AllByName => role != "postgres",
        };
        if may { "00000" } else { "42501" }
    }

    /// A statement that puts another function in its place.
    pub fn replacement(&self) -> String {
        format!("ALTER FUNCTION public.{} SECURITY DEFINER", self.signature)
    }
}

pub const CALLS: [Call; 69] = [
    Call::of(All, "snowflake_next()", ""),
    Call::of(Superuser, "snowflake_next(bigint)", "1"),
    Call::of(All, "snowflake_next_batch(bigint)", "3"),
    Call::of(Superuser, "snowflake_advance(bigint)", "1"),
    Call::of(Superuser, "snowflake_observe(bigint)", "1"),
    Call::of(All, "snowflake_generate(bigint)", "1"),
    Call::of(All, "snowflake_generate(bigint,bigint)", "1, 2"),
    Call::of(All, "snowflake_generate(bigint,bigint,bigint)", "1, 2, 1288834974657"),
    Call::of(All, "snowflake_try_generate(bigint)", "1"),
    Call::of(All, "snowflake_try_generate(bigint,bigint)", "1, 2"),
    Call::of(All, "snowflake_try_generate(bigint,bigint,bigint)", "1, 2, 1288834974657"),
    Call::of(All, "snowflake_compose(bigint,bigint,bigint)", "1700000000000, 1, 2"),
    Call::of(All, "snowflake_compose(bigint,bigint,bigint,bigint)", "1700000000000, 1, 2, 1288834974657"),
    Call::of(All, "snowflake_decode(bigint)", "1"),
    Call::of(All, "snowflake_decode(bigint,bigint)", "1, 2"),
    Call::of(All, "snowflake_decode_timestamp_ms(bigint)", "1"),
    Call::of(All, "snowflake_decode_timestamp_ms(bigint,bigint)", "1, 2"),
    Call::of(All, "snowflake_decode_timestamp(bigint)", "1"),
    Call::of(All, "snowflake_decode_timestamp(bigint,bigint)", "1, 2"),
    Call::of(All, "snowflake_decode_node_id(bigint)", "1"),
    Call::of(All, "snowflake_decode_sequence_id(bigint)", "1"),
    Call::of(All, "snowflake_decode_as(bigint,text)", "1, 'discord'"),
    Call::of(All, "snowflake_layouts()", ""),
    Call::of(All, "snowflake_to_base32(bigint)", "1"),
    Call::of(All, "snowflake_from_base32(text)", "'0000000000001'"),
    Call::of(All, "snowflake_to_uuid(bigint)", "1"),
    Call::of(All, "snowflake_to_uuid(bigint,bigint)", "1, 2"),
    Call::of(All, "snowflake_from_uuid(uuid)", "SCHEMA.snowflake_to_uuid(1)"),
    Call::of(All, "snowflake_from_uuid(uuid,bigint)", "SCHEMA.snowflake_to_uuid(1, 2), 2"),
    Call::of(All, "snowflake_encrypt(bigint,bytea)", "1, '01234567890123456789012345678901'"),
    Call::of(All, "snowflake_decrypt(bigint,bytea)", "1, '01234567890123456789012345678901'"),
    Call::of(All, "snowflake_min_id(timestamp with time zone)", "'2030-01-01'"),
    Call::of(All, "snowflake_min_id(timestamp with time zone,bigint)", "'2030-01-01', 1"),
    Call::of(All, "snowflake_max_id(timestamp with time zone)", "'2030-01-01'"),
    Call::of(All, "snowflake_max_id(timestamp with time zone,bigint)", "'2030-01-01', 1"),
    Call::of(All, "snowflake_current_millis()", ""),
    Call::of(All, "snowflake_current_millis(bigint)", "1288834974657"),
    Call::of(All, "snowflake_node()", ""),
    Call::of(All, "snowflake_epoch_ms()", ""),
    Call::of(All, "snowflake_status()", ""),
    Call::of(AllByName, "snowflake_adopt(regclass,name,boolean)", "'own.ROLE', 'id', true"),
    Call::of(
        AllByName,
        "snowflake_adopt_before(regclass,name,boolean,bigint)",
        "'own.ROLE', 'id', true, 4611686018427387904",
    ),
    Call::of(All, "snowflake_audit_counts(regclass,name,bigint,bigint,bigint)", "'own.ROLE', 'id', 1, 2, 3"),
    Call::of(All, "snowflake_audit(regclass,name,timestamp with time zone)", "'own.ROLE', 'id', NULL"),
    Call::of(Registrar, "snowflake_node_claim(text)", "'one'"),
    Call::of(Registrar, "snowflake_node_release(text)", "'one'"),
    Call::of(
        Registrar,
        "snowflake_nodes_change(regclass,text,boolean)",
        "'SCHEMA.snowflake_nodes', 'one', true",
    ),
    Call::of(All, "sequencer_range_next(regclass)", "'own.ranges'"),
    Call::of(All, "sequencer_designs()", ""),
    Call::of(All, "sequencer_strided_next(regclass)", "'own.numbers'"),
    Call::of(All, "sequencer_unix_id(bigint,bigint)", "1, 2"),
    Call::of(All, "sequencer_unix_now()", ""),
    Call::of(All, "sequencer_unix_next()", ""),
    Call::of(All, "sequencer_scatter(bigint)", "1"),
    Call::of(All, "sequencer_unscatter(bigint)", "1"),
    Call::of(All, "sequencer_lamport_next(regclass)", "'own.numbers'"),
    Call::of(All, "sequencer_lamport_observe(regclass,bigint)", "'own.numbers', 1"),
    Call::of(All, "sequencer_lamport_decode(bigint)", "1"),
    Call::of(All, "sequencer_vector_zero(bigint)", "3"),
    Call::of(All, "sequencer_vector_tick(bigint[])", "'{1,2}'"),
    Call::of(All, "sequencer_vector_merge(bigint[],bigint)", "'{1,2}', 1"),
    Call::of(All, "sequencer_vector_id(bigint[])", "'{1,2}'"),
    Call::of(All, "sequencer_vector_compare(bigint,bigint,bigint)", "1, 1, 2"),
    Call::of(All, "sequencer_vector_decode(bigint,bigint)", "1, 2"),
    Call::of(All, "sequencer_truetime_next()", ""),
    Call::of(All, "sequencer_truetime_wait(bigint)", "1"),
    Call::of(All, "sequencer_truetime_compare(bigint,bigint)", "1, 2"),
    Call::of(All, "sequencer_truetime_decode(bigint)", "1"),
    Call::of(All, "sequencer_truetime_decode(bigint,bigint)", "1, 2"),
];
