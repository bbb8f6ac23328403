"""Runs experiments until they tell the possible causes apart: suspects, choice of the next run, verdicts."""
