"""Keeps track of cases: an index of all of them, the latest one, several merged into one, and one packed into a file."""
