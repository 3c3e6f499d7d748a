"""Articles: the record of one, their store, and the readers of source files."""
