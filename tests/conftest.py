"""In which order the tests begin."""

from __future__ import annotations

import pytest

#: Where in the suite the files with a real Airflow begin. They wait for each other (one_airflow),
#: so they lie apart: a process that waits tests nothing else.
BEGINS_AT = {"test_real_airflow.py": 0.0, "test_dag_overhead.py": 0.4, "test_postgres.py": 0.7}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The Airflows where ``BEGINS_AT`` says, all else as it was found; files stay together."""
    files = list(dict.fromkeys(item.path for item in items))
    places = {
        path: (BEGINS_AT.get(path.name, place / len(files)), place)
        for place, path in enumerate(files)
    }
    items.sort(key=lambda item: places[item.path])
