"""What training leaves and reads on the disk: caches, data files, checkpoints."""
