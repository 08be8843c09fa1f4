"""MindIR files, read and written without MindSpore, and what its loader does not say of them."""
