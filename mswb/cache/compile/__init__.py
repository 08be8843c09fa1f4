"""The compile cache: graphs that MindSpore keeps from one run to the next."""
