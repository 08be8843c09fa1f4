"""The one table of the workbench: columns in arrays, drawn line by line, for ten rows or a million."""
