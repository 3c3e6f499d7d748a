"""Published experiments, run again: a folder a paper."""
