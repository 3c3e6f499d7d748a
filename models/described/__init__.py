"""Topics of any origin: word lists or weights, with or without shares of documents."""
