"""The Convert pane."""
