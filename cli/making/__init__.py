"""Commands that write: sets, other forms of them, copies."""
