"""Incidents: a site's spells outside healthy, from first movement to close.

Standings in, frozen incidents out (``follow_incidents``); a run follows them all (``follow_run``).
"""

from target_health.incidents.records import Incident, Movement, Standing
from target_health.incidents.rules import follow_incidents
from target_health.incidents.runs import close_incident, follow_run, record_deceptions
from target_health.incidents.storage import find_incident, open_incidents, refresh_incidents

__all__ = [
    "Incident",
    "Movement",
    "Standing",
    "close_incident",
    "find_incident",
    "follow_incidents",
    "follow_run",
    "open_incidents",
    "record_deceptions",
    "refresh_incidents",
]
