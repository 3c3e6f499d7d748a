"""The commands on workers of a Dask cluster: text, training, selection, evaluation."""
