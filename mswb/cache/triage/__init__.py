"""From what an error says to the data file or cache that is to blame."""
