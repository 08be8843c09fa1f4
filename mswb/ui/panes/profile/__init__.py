"""The Profile pane."""
