"""``python -m target_health``: the console script without its installation."""

from target_health.cli import main

main()
