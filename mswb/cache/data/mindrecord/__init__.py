"""MindRecord: a data file of pages, and beside it an SQLite index."""
