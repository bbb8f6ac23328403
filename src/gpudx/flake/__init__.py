"""Finds out which tests are flaky and what decides it: runs a suite under conditions, and judges by counts alone."""
