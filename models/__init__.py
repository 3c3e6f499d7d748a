"""Topic models: what is learned and how it is fitted; one folder a family."""
