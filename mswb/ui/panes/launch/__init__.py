"""The Launch pane: runs, their ranks, their logs, and why they failed."""
