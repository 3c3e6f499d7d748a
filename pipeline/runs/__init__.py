"""Run directories, and the models and files in them."""
