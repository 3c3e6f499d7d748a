"""Training: over a corpus or a stream, with validation checks and checkpoints."""
