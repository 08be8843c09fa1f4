"""What needs more than one domain."""
