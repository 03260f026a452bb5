//! Each rule of the generator, one by one.
