"""Checks made before anything starts, one subject a module."""
