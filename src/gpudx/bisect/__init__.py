"""Finds the revision that brought a failure in, by what the diagnosis says of each build."""
