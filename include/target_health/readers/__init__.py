"""Reading crawl logs of any make into raw columns: one small module a format.

A reader takes lines (or, for Parquet, rows) and gives the columns of ``raw.RAW_FIELDS`` as text,
unjudged. Types, limits, sites and verdicts are the landing's business.
"""
