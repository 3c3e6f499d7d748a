"""The command line: settings, run directories, progress."""
