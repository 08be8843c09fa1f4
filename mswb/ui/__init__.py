"""The workbench: a terminal face over the core."""
