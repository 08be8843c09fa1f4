"""Reading files that others write: follow, index, watch, and open them safely."""
