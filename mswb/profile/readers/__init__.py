"""Readers of profiles, one family of formats a module."""
