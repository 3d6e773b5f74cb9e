"""Implementations written to be read, straight from the definitions, that the fast ones must equal."""
