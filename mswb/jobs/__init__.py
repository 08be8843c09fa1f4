"""The one job runner: run folders, the detached supervisor, start, stop and attach."""
