"""Start, read and diagnose (distributed) MindSpore training runs."""
