"""The four panes, one package each; none imports another."""
