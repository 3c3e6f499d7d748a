"""What `reproduce` prints, writes and draws for each experiment."""
