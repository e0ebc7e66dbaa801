"""The picture: pages in Airflow's UI, made from the published database alone.

``mounting`` is what Airflow's plugin registers and ``app`` what it mounts, with the routes of
``pages`` and ``data_routes``. ``fleet``, ``site``, ``history``, ``incidents`` and ``heat_map``
read; ``words`` says it; ``deeds`` carries out what a person asks for.
"""
