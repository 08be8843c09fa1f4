"""What a log view draws: rows of one file or of many merged by time, filtered, searched, folded; no terminal here."""
