"""A plugin for the suite: removes time limits, so that no test fails because the machine is busy."""

from __future__ import annotations

from hypothesis import HealthCheck, settings


def pytest_sessionstart() -> None:
    """Use the suite's own profile without its time limits."""
    suite = settings.get_profile("array-api-tests")
    slow = [*suite.suppress_health_check, HealthCheck.too_slow]
    settings.register_profile("patient", suite, deadline=None, suppress_health_check=slow)
    settings.load_profile("patient")
