"""Instructions of compiled kernels, counted by callgrind: the same number on every run, whatever else the machine does.

The C code is compiled for AVX2, which valgrind knows. A number that grew is slower code.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

import symres as sr

SIZE = 128
FLAGS = ["-std=c11", "-O3", "-march=x86-64-v3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"]
MAP = """#include "kernel.h"
#include <stdlib.h>
int main(int argc, char **argv)
{
    const size_t n = SIZE;
    double *K = malloc(n * sizeof *K), *C = malloc(n * n * sizeof *C), *out = malloc(n * n * sizeof *out);
    for (size_t i = 0; i < n; ++i)
        K[i] = 1 + 0.01 * i;
    for (size_t i = 0; i < n * n; ++i)
        C[i] = 0.9 * (2.0 * (i % 97) / 97 - 1);
    if (argc > 1)
        covariance_map_matrix(n, n, K, K, C, n, 1.7, 0.1, out, n);
    return 0;
}
"""
NETWORK = MAP.replace(
    "covariance_map_matrix(n, n, K, K, C, n, 1.7, 0.1, out, n);",
    "{\n        double w[] = {1.7, 1.7, 1.7, 1.7, 1.7}, b[] = {0.1, 0.1, 0.1, 0.1, 0.1};\n"
    "        for (size_t i = 0; i < n * n; ++i)\n            out[i] = 0;\n"
    "        return dual_kernel_matrix(n, n, K, K, 0, 0, w, b, C, out);\n    }",
)


def instructions(text: str, program: str) -> float:
    """Instructions an entry, beyond those of a run that computes nothing."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sr.codegen.module.Module("kernel", "c", text).write(folder / "kernel.c")
        (folder / "main.c").write_text(f"#define SIZE {SIZE}\n{program}")
        files = [str(folder / part) for part in ("main.c", "kernel.c")]
        command = ["cc", *FLAGS, "-I", name, *files, "-lm", "-o", name + "/run"]
        subprocess.run(command, check=True)
        both = []
        for arguments in ([], ["compute"]):
            call = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={name}/out", name + "/run", *arguments]
            done = subprocess.run(call, check=True, capture_output=True, text=True)
            both.append(int(done.stderr.split("refs:")[1].split()[0].replace(",", "")))
    return (both[1] - both[0]) / SIZE**2


def counted() -> str:
    """The table in Markdown."""
    if shutil.which("valgrind") is None or shutil.which("cc") is None:
        raise SystemExit("instructions are counted by valgrind on code compiled by cc: install both")
    lines = [f"### Instructions an entry, N = {SIZE}, AVX2", "", "| kernel | instructions |", "|---|---|"]
    for name in ("gelu", "relu", "erf", "sin"):
        text = sr.export(sr.derive(sr.mlp(name)).covariance_map, target="c", prefix="").text
        lines.append(f"| covariance map of {name} | {instructions(text, MAP):.1f} |")
    for name in ("gelu", "relu", "erf"):
        text = sr.export(sr.network([sr.mlp(name)] * 5), target="c", prefix="").text
        lines.append(f"| five layers of {name} | {instructions(text, NETWORK):.1f} |")
    return "\n".join(lines)
