"""Profiles of trainings: what they are, what they say."""
