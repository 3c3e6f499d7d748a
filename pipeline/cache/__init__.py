"""Results that were computed before, by all that they depend on."""
