"""Objects of other libraries: who reads them, and when the reader is loaded."""

import subprocess
import sys


def test_pytorch_is_not_imported_before_it_is_needed():
    code = """
import sys
import symres as sr
sr.activation("gelu")
try:
    sr.activation(len)
except sr.DeclarationError as error:
    print(error)
print("torch" in sys.modules, "symres.torch" in sys.modules)
import torch
print(sr.activation(torch.nn.GELU()).name)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert "this is not an activation" in out[0]
    assert out[1:] == ["False False", "gelu"]
