"""Mean field: variational Bayes, EM, dual-EM and ICM by coordinate ascent."""
