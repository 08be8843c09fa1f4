"""Data files, one format a module."""
