"""The trash: what is cleaned or replaced lies there until it is emptied, and can come back."""
