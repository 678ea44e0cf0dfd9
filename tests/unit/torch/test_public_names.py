"""The public names, and that nothing else of symres imports PyTorch."""

import subprocess
import sys

import pytest

import symres.torch as st
from tests.house import PACKAGE


def test_every_public_name_is_there():
    assert {"measure", "Measurement", "Prediction"} <= set(st.__all__)
    for name in st.__all__:
        assert getattr(st, name).__doc__


@pytest.mark.parametrize("package", ["torch", pytest.param("pandas", marks=pytest.mark.exhaustive)])
def test_a_missing_package_is_named(package):
    code = (
        f"import sys\nsys.modules[{package!r}] = None\n"
        "from symres.core.errors import SymresError\n"
        "try:\n    import symres.torch as st\n"
        "    import torch\n    st.measure(torch.nn.Linear(2, 2), torch.ones(1, 2)).frame()\n"
        "except SymresError as error:\n    print(error)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert shown.stdout.strip().endswith("pip install symres[torch]"), shown.stderr


def test_other_rooms_do_not_import_pytorch_with_their_modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        read_only = path.match("codegen/targets/*/runtime/*.py")  # parts of generated modules
        of_torch = PACKAGE / "torch" in path.parents or path == PACKAGE / "kernels" / "gpytorch.py"
        if "_templates" not in path.parts and not of_torch and not read_only:
            lines = path.read_text().splitlines()
            assert not [row for row in lines if row.startswith(("import torch", "from torch"))], path
