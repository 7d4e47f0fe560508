"""Settings for all tests."""

from hypothesis import HealthCheck, settings

# No test may fail because the machine was busy: neither an example's time nor the time to make one is judged.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")
