"""Whole allocations, moved from the prior's mean to the posterior by growing reinforcement."""
