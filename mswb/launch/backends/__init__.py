"""One module for each way to start the processes of a run."""
