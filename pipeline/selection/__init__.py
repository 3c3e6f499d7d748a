"""Choice of the number of topics: runs, their scores, the recommendation."""
