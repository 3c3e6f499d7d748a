"""Articles: what one is, where they are stored, and the files they are read from."""
