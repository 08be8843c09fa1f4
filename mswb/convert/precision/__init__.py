"""Half precision: models written in it, what it loses, and how that is mended."""
