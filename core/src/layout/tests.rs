//! Each field, each bound, and the vectors of other people's ids.
