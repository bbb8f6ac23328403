"""Starts processes: the program under test, builds and tools. Nothing else in gpudx does."""
