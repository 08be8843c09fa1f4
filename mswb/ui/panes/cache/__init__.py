"""The Cache pane."""
