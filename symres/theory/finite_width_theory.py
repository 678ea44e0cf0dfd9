"""A layer with what fluctuates in deep networks of finite width, and how their outputs respond."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import mpmath as mp
import sympy as sp

from ..core import symbols
from ..core.errors import DeclarationError, NoClosedForm
from ..core.scalars import Number, parameter, whole
from ..core.work_budget import Stage, limited
from ..numerics.deferred_numpy import np
from ..results.annotated_numbers import (
    Branches,
    BranchScale,
    DeepBranchScale,
    EstimatedNumber,
    GrowthCurve,
    ResponseDecay,
)
from ..results.arguments_of_quantities import require_range
from ..results.observable import DepthObservable, Procedure, Section
from ..results.quantity import Quantity, Status
from .aspect_ratio.growth_curves import AspectRatioCurve, GrowthNumbers, growth_numbers, growth_rows
from .aspect_ratio.nu import near_identity, useful_point
from .critical_theory import CriticalTheory
from .depth.depth_procedures import branch_scale_procedure, fixed_point_procedure, response_recursion, vertex_recursion
from .depth.fluctuating_network import Kernels, entries, kernel_matrix, single_kernel
from .depth.infinite_depth import DepthLimit, depth_limit
from .depth.network import Network, of_networks
from .observables import deep_networks, registry
from .observables.layer_theory import Derived, LayerTheory
from .response.branch_scale import deep_branch_scale, largest_response, linear_estimate, scale_for
from .response.kernel_response import readout_of, response_decay
from .response.maximum_entropy import maximum_entropy_kernel


@dataclass(frozen=True)
class FiniteWidthTheory(CriticalTheory):
    """Vertices, their growth, aspect ratios and responses of deep networks of one layer."""

    nu = Derived(deep_networks.NU)
    nu_log = Derived(deep_networks.NU_LOG)
    aspect_ratio = Derived(deep_networks.ASPECT_RATIO)
    vertex_limit = Derived(deep_networks.VERTEX_LIMIT)

    @property
    def depth_observables(self) -> Mapping[str, DepthObservable]:
        """The records of what is claimed of deep networks of finite width, by name."""
        records = registry.observables.items()
        return {name: record for name, record in records if isinstance(record, DepthObservable)}

    def network(self, depth: Number) -> Network:
        """So many of these layers, one after the other.

        Args:
            depth: number of layers, 0 or more.

        Examples:
            >>> sr.derive("abs").network(10).depth
            10
        """
        return Network((self,) * whole(depth, "depth", 0), self)

    fluctuations = of_networks(Network.fluctuations)
    vertex = of_networks(Network.vertex)
    kernel_fluctuation = of_networks(Network.kernel_fluctuation)
    covariance = of_networks(Network.covariance)
    response = of_networks(Network.response)

    @cached_property
    def vertex_recursion(self) -> Procedure:
        """``vertex`` and ``kernel_fluctuation`` of one input as a recursion in functions of the layer, for ``export``.

        Raises:
            NoClosedForm: averages of the layer shift the mean of the stream, or need too many neurons at once.

        Examples:
            >>> recursion = sr.derive("abs").vertex_recursion
            >>> [function.expr for function in recursion.functions]  # K', chi_parallel and N
            [C_W*K + C_b, C_W, 2*C_W**2*K**2]
        """
        return vertex_recursion(self, {"vertex": self.vertex, "kernel_fluctuation": self.kernel_fluctuation})

    @cached_property
    def fixed_point_procedure(self) -> Procedure:
        """The kernel in which a network ends, found in functions of the layer, for ``export``.

        Examples:
            >>> module = sr.export(sr.derive("sin").fixed_point_procedure).load()
            >>> round(float(module.fixed_point(1.0, C_W=2.0, C_b=0.0)), 12)
            0.79681213002
        """
        return fixed_point_procedure(self, self.at_fixed_point)

    @cached_property
    def growth_curve(self) -> GrowthCurve | None:
        """Nu as numbers along gamma. None without a critical point.

        Examples:
            >>> curve = sr.derive("linear", layer="residual").growth_curve
            >>> [round(row.nu, 6) for row in curve.at(0.0, 0.5)]  # nu = 2 - 2*gamma^4
            [2.0, 1.875]
        """
        rows = () if self._growth_numbers is None else tuple(growth_rows(self._growth_numbers))
        if not rows:
            return None
        return GrowthCurve(rows, near_identity(self.nu) if self._growth_formulas else None)

    @cached_property
    def _growth_numbers(self) -> GrowthNumbers | None:
        point = useful_point(self.critical_points)
        if point is None:
            return None
        return self.attempted(Stage.FINITE_WIDTH, "nu", lambda: growth_numbers(self.layer, point), None)

    @cached_property
    def _growth_formulas(self) -> tuple[Quantity, ...]:
        """Nu and what follows from it, unless critical at one kernel only: there they are numbers, and slow."""
        point = useful_point(self.critical_points)
        if point is None or point.K not in (0, symbols.K):
            return ()
        observables = self.of_section(Section.FINITE_WIDTH).values()
        return tuple(quantity for quantity in observables if quantity.status is not Status.UNKNOWN)

    def optimal_gamma(self, /, r: Number, n_L: Number, **params: Number) -> Branches:
        """The skip weights gamma >= 0 for which a network of aspect ratio r = depth/width is as deep as is optimal.

        Args:
            r: depth/width.
            n_L: number of outputs.
            params: numbers for the parameters of the activation, by name.

        Returns:
            All solutions of ``aspect_ratio = r`` in increasing order; a single one is a number as well.

        Raises:
            DeclarationError: r is smaller than the optimal ratio at every gamma.

        Examples:
            Deep linear networks have ``r* = 4/((20 + 3 n_L)(2 - 2 gamma^4))``, which is 1 at
            ``gamma^4 = 0.96`` for n_L = 10:

            >>> round(float(sr.derive("linear", layer="residual").optimal_gamma(r=1, n_L=10)), 6)
            0.989846
        """
        return self.aspect_ratio_curve(n_L, **params).solve(r)

    def aspect_ratio_curve(self, /, n_L: Number, **params: Number) -> AspectRatioCurve:
        """``r*(gamma)`` with its turning points and its least value, for n_L outputs.

        Args:
            n_L: number of outputs.
            params: numbers for the parameters of the activation, by name.

        Returns:
            AspectRatioCurve, with ``least``, ``turns`` and ``solve(r)``.

        Examples:
            >>> curve = sr.derive("linear", layer="residual").aspect_ratio_curve(n_L=10)
            >>> [round(number, 6) for number in curve.least]  # gamma, and r* = 4/(2*50)
            [0.0, 0.04]
        """
        return AspectRatioCurve(self.aspect_ratio, n_L, tuple(params.items()), self._growth_numbers)

    @property
    def optimal_gamma_procedure(self) -> Procedure:
        """``optimal_gamma`` as a search in the aspect ratio, for ``export``.

        Examples:
            >>> procedure = sr.derive("abs", layer="residual").optimal_gamma_procedure
            >>> procedure.name, procedure.functions[0].expr
            ('optimal_gamma', 4/((2 - 2*gamma**4)*(3*n_L + 20)))
        """
        return self.aspect_ratio_curve(1).inverse  # which takes n_L as an argument

    @cached_property
    def response_decay(self) -> ResponseDecay:
        """The power with which the response falls with the depth (Fischer et al., figure 8).

        Raises:
            NoClosedForm: it falls exponentially, or no law is known.

        Examples:
            The kernel of tanh falls like ``1/(2 l)``, so that ``chi_parallel = 1 - 4 K = 1 - 2/l``:

            >>> print(sr.derive("tanh").response_decay)
            response after many layers l
              eta ~ l**(-2)
              eta/chi ~ 1
        """
        return response_decay(self.kernel_map, self.chi_parallel, self.memory, self.exponents)

    def response_recursion(self, readout: LayerTheory | None = None) -> Procedure:
        """``response`` to the kernel of one input as a recursion in functions of the layer, for ``export``.

        Examples:
            >>> recursion = sr.derive("z + xi*Dense(abs(z))").response_recursion()
            >>> recursion.name, [function.name for function in recursion.functions][:2]
            ('response', ['kernel_map', 'chi_parallel'])
        """
        last = readout or readout_of((self,))
        return response_recursion(self, last, lambda **args: self.response(readout=last, **args).parts)

    @limited(Stage.FINITE_WIDTH, "branch_scale")
    def branch_scale(
        self, /, depth: Number, K: Kernels, readout: LayerTheory | None = None, scale: str = "xi", **params: Number
    ) -> BranchScale:
        """The weight of the branch at which the output responds most to the kernel of the input.

        Every maximum of the size of the response is compared with the others and with the ends of the range that is
        looked at: 1e-15 to 3e13 in units of 1/sqrt(depth), further where it rises, or up to where numbers end.

        Args:
            depth: number of layers.
            K: kernel of the input; of two inputs the matrix, then the response is ``dK12_out/dK12``.
            readout: the layer that makes the output; by default ``mlp(phi)`` with the same C_W and C_b.
            scale: name of the weight.
            params: numbers for all other parameters, by name.

        Returns:
            The weight, a number; its ``response`` is chi_out there, with its sign, ``searched`` the range.

        Raises:
            NoClosedForm: no interior maximum is the largest value; the message says where it is larger, and between
                which weights it was looked for.
            DeclarationError: no such weight, a parameter without a value, or a kernel that is none.

        Examples:
            >>> best = sr.derive("z + xi*Dense(erf(z))").branch_scale(depth=10, K=0.05, C_W=1.25, C_b=0.05)
            >>> round(best, 6), round(best.response, 6)
            (0.326509, 2.019002)
        """
        last = readout or readout_of((self,))
        weight, values = self._but(scale, params, last)
        kernels = np.array([float(k) for k in entries(kernel_matrix(K))])
        return largest_response(self, last, whole(depth, "depth", 1), kernels, values, weight)

    def branch_scale_limit(
        self, /, K: Number, readout: LayerTheory | None = None, scale: str = "xi", **params: Number
    ) -> DeepBranchScale:
        """The limit of ``branch_scale`` for many layers and one input: the final kernel, and c of ``c/sqrt(depth)``.

        Every maximum is compared with the others, with the response without branches and with that of large kernels.

        Args:
            K: kernel of the input.
            readout: the theory of the layer that makes the output; by default ``mlp(phi)`` with the same C_W and C_b.
            scale: name of the weight.
            params: numbers for all other parameters, by name.

        Returns:
            DeepBranchScale, with ``coefficient``, ``final_kernel`` and ``at(depth)``.

        Raises:
            NoClosedForm: the response has no interior maximum.

        Examples:
            >>> limit = sr.derive("z + xi*Dense(erf(z))").branch_scale_limit(K=0.01, C_W=1.25, C_b=0.05)
            >>> round(limit.coefficient, 6), round(limit.final_kernel, 6)  # xi* is 1.169985/sqrt(depth)
            (1.169985, 0.251132)
        """
        last = readout or readout_of((self,))
        _, values = self._but(scale, params, last)
        limit = self.depth_limit(scale)
        return deep_branch_scale(limit.kernel_rate, last.chi_parallel, limit.power, single_kernel(K), values)

    def branch_scale_for(
        self, /, final_kernel: Number, depth: Number, K: Number, scale: str = "xi", **params: Number
    ) -> float:
        """The smallest weight of the branch for which a kernel is seen to be reached after ``depth`` layers.

        With ``final_kernel=theory.maximum_entropy_kernel`` it is the condition of Fischer et al., appendix E; with a
        quarter of the squared dynamic range that of their section III.

        Args:
            final_kernel: of the last layer.
            depth: number of layers.
            K: kernel of the input.
            scale: name of the weight.
            params: numbers for all other parameters, by name.

        Raises:
            NoClosedForm: no weight leads there.

        Examples:
            Layers of ``K' = (1 + xi^2) K`` double the kernel in four steps at ``xi^2 = 2^(1/4) - 1``:

            >>> round(sr.derive("z + xi*Dense(abs(z))").branch_scale_for(final_kernel=2, depth=4, K=1, C_W=1, C_b=0), 6)
            0.434979
        """
        weight, values = self._but(scale, params)
        target, start = single_kernel(final_kernel, "final_kernel"), single_kernel(K)
        return scale_for(self, target, whole(depth, "depth", 1), start, values, weight)

    def branch_scale_estimate(
        self, /, final_kernel: Number, depth: Number, K: Number, scale: str = "xi", **params: Number
    ) -> EstimatedNumber:
        """The weight of the branch for which *linear* layers lead to a kernel (Fischer et al. (67)).

        Args:
            final_kernel: of the last layer, in (67) a quarter of the squared dynamic range of the activation.
            depth: number of layers.
            K: kernel of the input.
            scale: name of the weight.
            params: numbers for all other parameters, by name.

        Returns:
            A number whose ``error`` is its distance from ``branch_scale``, at which outputs respond most.

        Raises:
            NoClosedForm: layers are not linear at small kernels, or do not lead there.

        Examples:
            >>> theory = sr.derive("z + xi*Dense(erf(z))")
            >>> estimate = theory.branch_scale_estimate(final_kernel="1/4", depth=10, K=0.01, C_W=1.25, C_b=0.05)
            >>> round(estimate, 6), round(estimate.error, 6)  # branch_scale is 0.401275 here
            (0.364287, 0.036989)
        """
        _, values = self._but(scale, params)
        layers, limit = whole(depth, "depth", 1), self.depth_limit(scale)
        start, end = single_kernel(K), single_kernel(final_kernel, "final_kernel")
        estimate = linear_estimate(limit.kernel_rate, limit.power, start, end, layers, values)
        return EstimatedNumber(estimate, abs(estimate - self.branch_scale(layers, K, None, scale, **params)))

    def branch_scale_procedure(self, readout: LayerTheory | None = None, scale: str = "xi") -> Procedure:
        """``branch_scale`` of one input as a search in functions of the layer, for ``export``.

        Examples:
            >>> sr.derive("z + xi*Dense(sin(z))").branch_scale_procedure().functions[0].expr  # K'
            C_W*xi**2*(1/2 - exp(-2*K)/2) + C_b*xi**2 + K
        """
        last = readout or readout_of((self,))
        exact = partial(self.branch_scale, readout=last, scale=scale)
        return branch_scale_procedure(self, last, self._weight(scale), exact)

    @cached_property
    def maximum_entropy_kernel(self) -> mp.mpf:
        """The kernel at which the activation uses its range most evenly (Fischer et al., appendix E, corrected).

        Raises:
            NoClosedForm: there are several activations, or it is not bounded and increasing.

        Examples:
            The values of erf are uniform between -1 and 1 for neurons of variance 1/2:

            >>> float(sr.derive("erf").maximum_entropy_kernel)
            0.5
        """
        if len(self.walks.activations) != 1:
            found = f"the layer has {len(self.walks.activations)} activations"
            raise NoClosedForm("the kernel of maximum entropy", found, "take a layer with one")
        return maximum_entropy_kernel(next(iter(self.walks.activations)))

    def depth_limit(self, scale: str = "xi") -> DepthLimit:
        """The limit of many layers whose branches are small: ODEs in depth, critical scale, regimes of training.

        Args:
            scale: name of the parameter that weighs the branch.

        Raises:
            NoClosedForm: the layer is no identity without its branch.

        Examples:
            >>> sr.derive("z + xi*Dense(relu(z))").depth_limit().kernel_expr
            (K + 2*C_b/C_W)*exp(C_W*tau/2) - 2*C_b/C_W
        """
        return depth_limit(self, scale)

    def _but(
        self, scale: str, params: dict[str, Number], readout: LayerTheory | None = None
    ) -> tuple[sp.Symbol, dict[sp.Symbol, float]]:
        """The symbol of a weight, and numbers for all other parameters, those of the readout alone among them."""
        weight = self._weight(scale)
        of_layer = set(self.layer.parameters)
        last = {s.name: s for s in (readout.layer.parameters if readout else ()) if s not in of_layer}
        values = self._numbers({name: value for name, value in params.items() if name not in last}, but={scale})
        for name, symbol in last.items():
            if name not in params:
                raise DeclarationError(f"{name} of the readout", "it has no value", f"pass {name}=...")
            values[symbol] = parameter(params[name], name)
            require_range("the readout", symbol, values[symbol])
        return weight, {symbol: float(value) for symbol, value in values.items()}

    def _weight(self, scale: str) -> sp.Symbol:
        """The symbol of a weight."""
        names = {s.name: s for s in self.layer.parameters}
        if scale not in names:
            raise DeclarationError(
                f"a branch of weight {scale}",
                f"the layer has no parameter {scale}: its parameters are {', '.join(names) or 'none'}",
                f'give the branch one: --layer "gamma*z + {scale}*Dense(phi(z))", in Python sr.residual(phi, xi=sr.xi) '
                "for xi; or name another one, scale=...",
            )
        return names[scale]
