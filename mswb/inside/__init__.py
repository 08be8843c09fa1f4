"""Everything that runs in the training interpreter. Imports nothing else of mswb."""
