"""Generated PyTorch modules on an accelerator: ``python tests/bench/bench_cuda.py``, as a table in Markdown.

For each function: the largest difference to the same code on the processor in float64, relative to the largest entry;
whether it compiles in one graph, with the difference that this makes; times of an N x N matrix as ratios to a copy of
it, and nanoseconds for an entry: eager, compiled, and with gradients. Networks take the compiler minutes: they are
traced to one graph and not timed compiled. ``--device cpu`` runs everything but what only an accelerator can say.
"""

import argparse
from collections.abc import Callable

import numpy as np
import torch
from torch.utils.benchmark import Timer

import symres as sr

C_W, C_b, FEATURES, DEPTH = 1.7, 0.1, 100, 5
CLOSED, OPEN = ("relu", "gelu", "erf", "sin"), ("silu", "tanh")
HEAD = ("function", "difference", "of gradients", "one graph", "copies", "compiled", "with gradients")


def maps(name: str) -> Callable:
    """The covariance map as a function of inputs X, of shape (N, features)."""
    function = sr.export(sr.derive(sr.mlp(name)).covariance_map, target="torch").load().covariance_map

    def of_inputs(X):
        C = X @ X.T / X.shape[1]
        K = C.diagonal()
        return function(K[:, None], K, C, C_W, C_b)

    return of_inputs


def networks(name: str) -> Callable:
    """Kernel and tangent kernel of a network, their sum."""
    function = sr.export(sr.derive(sr.mlp(name)).network(DEPTH), target="torch").load().dual_kernel_matrix
    return lambda X: sum(function(X, C_W=C_W, C_b=C_b))


def inputs(size: int, device: str, kind: torch.dtype) -> torch.Tensor:
    X = np.random.default_rng(0).standard_normal((size, FEATURES))
    X[1], X[3], X[5] = X[0], -X[2], (1 + 1e-9) * X[4]
    return torch.from_numpy(X).to(device, kind)


def gradients(function: Callable, X: torch.Tensor) -> torch.Tensor:
    X = X.clone().requires_grad_()
    function(X).sum().backward()
    return X.grad


def far(one: torch.Tensor, two: torch.Tensor) -> float:
    return float((one.cpu() - two.cpu()).abs().max() / two.abs().max())


def compiled(function: Callable, X: torch.Tensor, backend: str) -> tuple[Callable | None, str]:
    torch._dynamo.reset()
    found = torch.compile(function, fullgraph=True, backend=backend)
    try:
        return found, f"{far(found(X), function(X)):.0e}"
    except Exception as error:  # whatever the compiler raises is what the table says
        return None, str(error).strip().splitlines()[0][:60]


def seconds(run: Callable[[], object], rounds: int) -> float:
    """The least of some runs."""
    return min(Timer("run()", globals={"run": run}).timeit(1).mean for _ in range(rounds))


def row(function: Callable, device: str, kind: torch.dtype, size: int, rounds: int, backend: str) -> list[str]:
    few, many = inputs(300, device, kind), inputs(size, device, kind)
    here = inputs(300, "cpu", kind).to(torch.float64)
    values, slopes = far(function(few), function(here)), far(gradients(function, few), gradients(function, here))
    C = many @ many.T
    copy = seconds(C.clone, rounds)
    quick, one_graph = compiled(function, few, backend)
    found = [seconds(lambda: function(many), rounds)]
    found.append(float("nan") if quick is None or backend != "inductor" else seconds(lambda: quick(many), rounds))
    found.append(seconds(lambda: gradients(function, many), rounds))
    ratios = [f"{t / copy:.1f} ({t / size**2 * 1e9:.2f} ns)" for t in found]
    return [f"{values:.0e}", f"{slopes:.0e}", one_graph, *ratios]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--size", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dtype", default="float64")
    parser.add_argument("rows", nargs="*", help="such as map-gelu network-relu; every one if none is named")
    given = parser.parse_args()
    print(f"PyTorch {torch.__version__}, {given.device}, {given.dtype}, N = {given.size}\n")
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    tasks = {f"map-{name}": (maps, name, "inductor") for name in (*CLOSED, *OPEN)}
    tasks |= {f"network-{name}": (networks, name, "aot_eager") for name in CLOSED}
    for label in given.rows or tasks:
        make, name, backend = tasks[label]
        found = row(make(name), given.device, getattr(torch, given.dtype), given.size, given.rounds, backend)
        print(f"| {label} | {' | '.join(found)} |", flush=True)


if __name__ == "__main__":
    main()
