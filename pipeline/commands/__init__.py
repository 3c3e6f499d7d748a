"""Commands, one a module: options, call of one function, print of the result."""
