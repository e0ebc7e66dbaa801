"""How fast, in how much memory: each benchmark against a floor timed in the same run.

``catalogue`` names them and runs them. Every measured piece runs in a process of its own, so that
its peak memory is its own; so nothing is imported here.
"""
