"""A plugin for the suite's runs: no test fails because the machine is busy with something else."""

from __future__ import annotations

from hypothesis import HealthCheck, settings


def pytest_sessionstart() -> None:
    """Take the suite's own profile, without its limits of time."""
    suite = settings.get_profile("array-api-tests")
    slow = [*suite.suppress_health_check, HealthCheck.too_slow]
    settings.register_profile("patient", suite, deadline=None, suppress_health_check=slow)
    settings.load_profile("patient")
