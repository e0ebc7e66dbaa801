"""The same for plain ``requests``: a session whose fetches are logged, and which obeys.

::

    session = requests.Session()
    with target_health.requests.watch(session, source="shop", home="/srv/target-health") as watched:
        response = session.get("https://shop.example/p/1")
        watched.item(response, extract(response))
"""

from target_health.requests.session import SiteHalted, WatchedSession, watch

__all__ = ["SiteHalted", "WatchedSession", "watch"]
