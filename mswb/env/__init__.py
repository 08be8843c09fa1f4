"""What this host offers: interpreters, devices, limits."""
