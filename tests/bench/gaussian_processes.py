"""Gaussian processes with the tangent kernel of a mish network, and RBF: ``python -m tests.bench.gaussian_processes``.

Two data sets of scikit-learn, several splits: test errors and log marginal likelihoods at the optimum, found by
scikit-learn and by GPyTorch from the same start. Nothing is asserted; the table says which kernel wins.
"""

import argparse
import time
import warnings

import gpytorch
import numpy as np
import torch
from sklearn.datasets import load_diabetes, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import train_test_split

from symres.kernels import gpytorch as of_gpytorch
from symres.kernels import sklearn as of_sklearn

START = {"scale": 1.0, "noise": 0.1, "C_W": 2.0, "C_b": 0.1, "length": 3.0}
DEPTH = 3
BOUNDS = (1e-8, 1e8)
VANISHING = 1e-2  # parameters that tend to 0: the likelihood is flat there, and where a search ends is its own affair


def diabetes(seed, most):
    """Features and target in units of their deviations in the training set; errors are roots of mean squares."""
    X, y = load_diabetes(return_X_y=True)
    X, other, y, truth = train_test_split(X, y, test_size=0.3, random_state=seed)
    X, other, y, truth = X[:most], other, y[:most], truth
    mean, size = X.mean(0), X.std(0)
    centre, unit = y.mean(), y.std()
    return (X - mean) / size, (y - centre) / unit, (other - mean) / size, (truth - centre) / unit


def digits(seed, most):
    """Pixels from 0 to 1; 1 for odd digits, -1 for even ones; errors are shares of wrong signs."""
    X, y = load_digits(return_X_y=True)
    X, other, y, truth = train_test_split(X / 16, 2.0 * (y % 2) - 1, train_size=most, random_state=seed)
    return X, y, other[:most], truth[:most]


def root_mean_square(found, truth):
    return float(np.sqrt(np.mean((found - truth) ** 2)))


def wrong_signs(found, truth):
    return float(np.mean(np.sign(found) != truth))


SETS = {"diabetes": (diabetes, root_mean_square, 309), "digits, odd or even": (digits, wrong_signs, 600)}


def of_scikit_learn(name, X, y, other):
    """Predictions, log marginal likelihood and hyperparameters."""
    if name == "RBF":
        inner = RBF(START["length"], BOUNDS)
    else:
        inner = of_sklearn.NeuralKernel(
            "mish", DEPTH, C_W=START["C_W"], C_b=START["C_b"], C_W_bounds=BOUNDS, C_b_bounds=BOUNDS
        )
    kernel = ConstantKernel(START["scale"], BOUNDS) * inner + WhiteKernel(START["noise"], BOUNDS)
    process = GaussianProcessRegressor(kernel, alpha=0.0).fit(X, y)
    values = np.exp(process.kernel_.theta)
    names = ["scale", *(["length"] if name == "RBF" else [h.name for h in inner.hyperparameters]), "noise"]
    return process.predict(other), process.log_marginal_likelihood_value_, dict(zip(names, values, strict=True))


class Process(gpytorch.models.ExactGP):
    """A process of mean 0."""

    def __init__(self, X, y, likelihood, kernel):
        super().__init__(X, y, likelihood)
        self.mean_module, self.covar_module = gpytorch.means.ZeroMean(), kernel

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def of_gp_torch(name, X, y, other):
    """The same."""
    X, y, other = (torch.tensor(a, dtype=torch.float64) for a in (X, y, other))
    likelihood = gpytorch.likelihoods.GaussianLikelihood(noise_constraint=gpytorch.constraints.GreaterThan(1e-8))
    if name == "RBF":
        inner = gpytorch.kernels.RBFKernel()
        inner.lengthscale = START["length"]
    else:
        inner = of_gpytorch.NeuralKernel("mish", DEPTH, C_W=START["C_W"], C_b=START["C_b"])
    kernel = gpytorch.kernels.ScaleKernel(inner)
    process = Process(X, y, likelihood, kernel).double()
    kernel.outputscale, likelihood.noise = START["scale"], START["noise"]
    both = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, process)
    free = list(process.parameters())
    optimiser = torch.optim.LBFGS(
        free, max_iter=60, tolerance_grad=1e-6, tolerance_change=1e-10, line_search_fn="strong_wolfe"
    )

    def loss():
        optimiser.zero_grad()
        value = -both(process(X), y)
        value.backward()
        return value

    process.train()
    optimiser.step(loss)
    total = -float(loss().detach()) * len(y)
    process.eval()
    likelihood.eval()
    with torch.no_grad():
        found = process(other).mean.numpy()
    values = {"scale": float(kernel.outputscale), "noise": float(likelihood.noise)}
    if name == "RBF":
        values["length"] = float(inner.lengthscale)
    else:
        values |= {"C_W": float(inner.C_W), "C_b": float(inner.C_b)}
    return found, total, values


def row(cells):
    return f"| {' | '.join(cells)} |"


def mean_of(values):
    return f"{np.mean(values):.4f} ± {np.std(values):.4f}"


def table(chosen, splits, most):
    """Lines of Markdown."""
    lines = [
        row(["data", "kernel", "library", "test error", "log marginal likelihood", "seconds a fit"]),
        row(["---"] * 6),
    ]
    notes = []
    for title in chosen:
        make, error, usual = SETS[title]
        errors, sums = {}, {}
        apart, gaps = {}, {}
        for seed in range(splits):
            X, y, other, truth = make(seed, min(most, usual))
            for name in ("NTK of mish", "RBF"):
                values = {}
                for library, fit in (("scikit-learn", of_scikit_learn), ("GPyTorch", of_gp_torch)):
                    start = time.process_time()
                    found, total, values[library] = fit(name, X, y, other)
                    spent = time.process_time() - start
                    errors.setdefault((name, library), []).append(error(found, truth))
                    sums.setdefault((name, library), []).append((total, spent))
                    print(
                        title, seed, name, library, total, errors[name, library][-1], values[library], spent, flush=True
                    )
                one, two = values["scikit-learn"], values["GPyTorch"]
                kept = [key for key in one if max(one[key], two[key]) > VANISHING]
                apart.setdefault(name, []).append(max(abs(two[key] / one[key] - 1) for key in kept))
                gaps.setdefault(name, []).append(sums[name, "GPyTorch"][-1][0] - sums[name, "scikit-learn"][-1][0])
        for (name, library), found in errors.items():
            totals, seconds = zip(*sums[name, library], strict=True)
            lines.append(row([title, name, library, mean_of(found), mean_of(totals), f"{np.mean(seconds):.1f}"]))
        best = min(("NTK of mish", "RBF"), key=lambda name: np.mean(errors[name, "scikit-learn"]))
        wins = sum(
            a < b for a, b in zip(errors["NTK of mish", "scikit-learn"], errors["RBF", "scikit-learn"], strict=True)
        )
        notes.append(f"{title}: {best} has the smaller mean test error; the NTK wins {wins} of {splits} splits.")
        for name, found in apart.items():
            shown = ", ".join(f"{value:.1e}" for value in found)
            notes.append(f"{title}, {name}: hyperparameters above {VANISHING} of both libraries differ by {shown}, "
                         f"likelihoods by {', '.join(f'{gap:.1e}' for gap in gaps[name])}.")  # fmt: skip
    return [*lines, "", *(f"- {note}" for note in notes)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--most", type=int, default=600, help="training points at most")
    parser.add_argument("--data", choices=SETS, action="append")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    torch.set_num_threads(1)
    with gpytorch.settings.max_cholesky_size(10**4), gpytorch.settings.fast_computations(False, False, False):
        print("\n".join(table(options.data or list(SETS), options.splits, options.most)))


if __name__ == "__main__":
    main()
