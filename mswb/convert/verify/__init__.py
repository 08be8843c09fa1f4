"""A verification: a conversion against its source, or a model against exact arithmetic."""
