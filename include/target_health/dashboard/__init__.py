"""The picture: pages in Airflow's UI, made from the published database alone.

``mounting`` is what Airflow's plugin registers; ``pages`` holds the routes; ``fleet``, ``site``,
``incidents`` and ``heat_map`` read; ``words`` and ``charts`` say it; ``deeds`` carries out what a
person asks for.
"""
