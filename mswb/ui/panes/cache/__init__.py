"""The Cache pane: what training reads and leaves behind; verified, mended and cleaned from here."""
