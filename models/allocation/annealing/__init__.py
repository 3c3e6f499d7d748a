"""Whole allocations, moved from independent tokens to the posterior by growing reinforcement."""
