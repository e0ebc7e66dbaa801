"""The errors that a user sees as one line."""

from __future__ import annotations


class TargetHealthError(Exception):
    """Something failed; the message is one line that says what to do. Exit status 1."""

    exit_status = 1


class UsageError(TargetHealthError):
    """The arguments or the configuration are wrong. Exit status 2."""

    exit_status = 2


class ConfigurationError(UsageError):
    """A configuration file says something that is not allowed; names file, key and what is."""


class WarehouseBusy(TargetHealthError):
    """Another run holds the writer's lock for longer than we wait."""


class DiskFull(TargetHealthError):
    """Too little space to go on without harm."""
