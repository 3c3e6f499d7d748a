"""`report`: a run, or several, as one page that opens from disk, and as figures."""
