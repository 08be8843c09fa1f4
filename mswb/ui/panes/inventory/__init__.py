"""The panes that list what lies in the folder are one pane in three settings: what they look for, and their words."""
