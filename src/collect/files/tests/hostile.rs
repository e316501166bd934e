//! Inputs that are broken, or made to harm.
