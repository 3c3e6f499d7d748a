"""Published experiments, done again: settings in, arrays of results out, no files, no printing."""
