"""Chrome trace events (JSON): read in pieces of bounded size, event by event where a piece is damaged."""
