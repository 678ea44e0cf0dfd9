"""What tests of several languages ask for."""

import pytest

from symres.codegen.strategy import choose


@pytest.fixture(scope="module")
def unmeasured():
    """Modules whose errors are not measured: that takes seconds, and has tests of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choose, "_measured_in", lambda component, target: component)
        yield
