"""One module a command: read the settings, call the library, print the result."""
