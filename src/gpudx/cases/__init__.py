"""Cases as a whole: the index of all of them, and one of them packed into a file."""
