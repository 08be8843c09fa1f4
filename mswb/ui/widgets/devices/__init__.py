"""The devices screen's upper part: counters as lines of data, and the widget that draws them."""
