//! The ceiling to write next, and what a look at the clock says.

use snowflake_core::ceiling::{LEAD_MAX_OF_FUZZ, LEAD_MIN_MS};
use snowflake_core::{Ceiling, ClockStep, Id};

use super::bytes::Bytes;
