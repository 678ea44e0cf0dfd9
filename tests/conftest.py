"""Settings of the whole suite."""

import os

# two workers share two cores: threads of their own inside of matrix products would only wait for each other
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")


def pytest_addoption(parser):
    """The one flag of the suite."""
    parser.addoption("--renew-golden", action="store_true", help="write the golden files anew")
