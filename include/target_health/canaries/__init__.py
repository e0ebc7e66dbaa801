"""Canaries: pages whose values are known, fetched the way production fetches.

Pure: what a page says of its checks (``outcomes``), what a site's observations say of the site
(``verdicts``). Effects at the edge: fetching, the warehouse (``storage``), whole runs (``runs``).
"""
