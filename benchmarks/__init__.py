"""Accuracy and speed of the library, each by one command that prints its table."""
