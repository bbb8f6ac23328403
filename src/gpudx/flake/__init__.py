"""Flaky tests: what to run next, and what the runs say. Nothing here runs anything: all follows from the journal."""
