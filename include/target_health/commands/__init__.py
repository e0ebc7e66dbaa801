"""What the console script says and prints; the work is done elsewhere in the package."""
