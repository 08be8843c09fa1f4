"""Models in files: what they are, and from one format into another."""
