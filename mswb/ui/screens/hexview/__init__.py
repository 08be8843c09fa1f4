"""A hex view over the pane: the bytes around a fault."""
