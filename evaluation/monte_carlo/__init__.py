"""Monte Carlo estimation of the likelihood of documents: what estimators of all families share."""
