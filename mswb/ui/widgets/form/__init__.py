"""The parts of a form: rows with a field, choices, foldable headings."""
