"""How the time of four-point vertices grows with depth, in one run: ``python tests/bench/bench_fluctuations.py``.

Processor times of ``vertex`` at several depths, one layer after the other, over that of the shallowest; the recursion
is linear in depth, so the ratios should be those of the depths once the layer is compiled. Nothing is asserted.
"""

import argparse
import time

import symres as sr

LAYERS = {
    "relu": (sr.residual("relu"), {"C_W": "3/2", "C_b": 0, "gamma": "1/2"}),
    "tanh": (sr.residual("tanh"), {"C_W": "1", "C_b": "1/10", "gamma": "1/2"}),
    "gelu": (sr.residual("gelu"), {"C_W": "1", "C_b": "1/10", "gamma": "4/5"}),
    "erf, gamma = 1": (sr.residual("erf", gamma=1, xi=sr.xi), {"C_W": "6/5", "C_b": "1/5", "xi": "1/30"}),
    "pre-LN relu": (sr.pre_ln("relu", gamma=sr.gamma), {"C_W": "1", "C_b": "1/10", "gamma": "4/5"}),
}
DEPTHS = (100, 300, 1000)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--depths", type=int, nargs="+", default=DEPTHS)
    depths = parser.parse_args().depths
    print(f"{'layer':16}{''.join(f'L = {d}'.rjust(12) for d in depths)}   seconds at the last, relative error there")
    for name, (layer, own) in LAYERS.items():
        theory = sr.derive(layer)
        theory.vertex(2, 1, **own)  # compiles
        times = []
        for depth in depths:
            start = time.process_time()
            found = theory.vertex(depth, 1, **own)
            times.append(time.process_time() - start)
        ratios = "".join(f"{t / times[0]:12.2f}" for t in times)
        print(f"{name:16}{ratios}   {times[-1]:.2f}, {found.errors[-1] / found[-1]:.1e}")


if __name__ == "__main__":
    main()
