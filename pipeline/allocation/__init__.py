"""`allocate`: how probable a table of counts is under allocation models, and its factors."""
