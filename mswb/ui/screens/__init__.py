"""Screens over the panes: findings, help, jobs, devices, forms."""
