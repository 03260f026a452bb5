//! The driver, on a host that does what a test says.
