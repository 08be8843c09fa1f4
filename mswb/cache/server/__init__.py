"""MindSpore's dataset cache server: started, asked, explained, and what dead ones leave behind."""
