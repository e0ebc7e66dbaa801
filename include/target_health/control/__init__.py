"""The control file that crawlers obey: built from the states, written atomically."""

from target_health.control.costs import effective_cost, in_money, set_effective_costs
from target_health.control.document import build_control, control_rows, validate
from target_health.control.file import read_control, write_control

__all__ = [
    "build_control",
    "control_rows",
    "effective_cost",
    "in_money",
    "read_control",
    "set_effective_costs",
    "validate",
    "write_control",
]
