"""The trainings of ``mswb demo``: each one fails in rank 1 at step 4, for a reason that lies in its data."""
