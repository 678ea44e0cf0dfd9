"""From layers to the theory of deep networks: recursions, criticality, reports."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import sympy as sp

from ..activations.activation import Activation
from ..activations.formula_parser import nearest
from ..core import symbols
from ..core.display import Fact, Plain, Shown
from ..core.errors import DeclarationError, NoClosedForm
from ..core.foreign import views
from ..core.scalars import Number, whole
from ..core.work_budget import Stage
from ..gaussian.algebra.canonical import canonical
from ..layers.equation_parser import declared_layer
from ..layers.layer import Layer
from ..layers.layouts import Axis
from ..layers.positions import positions_of
from ..notation import latex
from ..notation.facts import equation
from ..results.advice.advice import Advice
from ..results.advice.sizes import DEPTH, WIDTH
from ..results.quantity import Quantity
from ..results.report import Report
from ..results.verdict import Verdict
from .criticality import critical_line
from .depth.depth_formulas import DepthFormulas
from .depth.depth_procedures import vertex_formulas
from .depth.network import Network, of_networks
from .names_by_purpose import OTHER_WORDS, THEORY_NAMES, parameters_by_name
from .token_theory import TokenTheory

_FIRST, _LAST = sp.symbols("l0 l", integer=True, nonnegative=True)  # layers, of a Jacobian


def derive(
    what: Layer | Activation | Theory | str,
    /,
    layer: str | None = None,
    positions: Axis | str | None = None,
    **numbers: Number,
) -> Theory:
    """The theory of deep networks built from one layer.

    Args:
        what: a Layer; text with a node in it, which is a forward equation, ``"z + Dense(gelu(z))"`` (see ``sr.layer``);
            an activation, its name or its formula. A Theory stays what it is.
        layer: of an activation: the name of an architecture, or a forward equation with ``phi``; by default the
            multilayer perceptron.
        positions: in each input, such as ``sr.Tokens(16)``, or this as text; tokens in any number, T, where the layer
            mixes positions.
        numbers: for parameters of the layer and of the activation, by name: ``gamma="1/2"``.

    Returns:
        A lazy object: each quantity is derived, and verified, when it is first asked for.

    Raises:
        DeclarationError: what cannot be read, a name without a meaning, a layer of a layer.
        UnsupportedLayer: the next stream is not linear in Gaussian sources.

    Examples:
        A quarter of the stream goes on, and Leaky ReLU adds the rest: ``K' = K/4 + C_W (1 + 1/16) K/2`` is K:

        >>> theory = sr.derive("z/2 + Dense(leaky_relu(z))", slope="1/4")
        >>> theory.kernel_map.expr
        17*C_W*K/32 + C_b + K/4
        >>> theory.critical_points[0].C_W
        24/17
    """
    if isinstance(what, Theory):
        if layer is None and positions is None and not numbers:
            return what
        positions, what = positions or what.positions, what.layer
    layout = positions_of(positions) if isinstance(positions, str) else positions
    return Theory(declared_layer(what, layer, **numbers), layout)


def network(layers: Iterable[Layer | Activation | Theory | str], positions: Axis | str | None = None) -> Network:
    """A deep network of different layers, each with its theory.

    Args:
        layers: in the order from input to output; equal ones are derived once. A read-in is ``Layer(Dense(z))``, a
            readout a layer without a skip, for instance ``mlp(phi)``. Each may be what ``derive`` takes.
        positions: in each input, such as ``sr.Tokens(16)``.

    Raises:
        DeclarationError: there are no layers, or one that is not in a list.

    Examples:
        >>> net = sr.network(["abs", "linear"])
        >>> [float(kernel) for kernel in net.kernels(K=1, C_W=[2, 3], C_b=0)]
        [1.0, 2.0, 6.0]
    """
    if isinstance(layers, str) or not isinstance(layers, Iterable):
        found, remedy = "it is not a list of layers", 'pass one, such as ["gelu"]*10, or sr.derive(...).network(10)'
        raise DeclarationError(f"a network of {getattr(layers, 'name', layers)!s:.60}", found, remedy)
    layers = list(layers)
    if not layers:
        raise DeclarationError("a network", "it has no layers", "pass at least one layer")
    theories: dict[Layer, Theory] = {}
    derived = [derive(layer, positions=positions) for layer in layers]
    if positions is None and any(theory.has_positions for theory in derived):  # those of one are those of all
        shared = next(theory.positions for theory in derived if theory.has_positions)
        derived = [derive(theory, positions=shared) for theory in derived]
    return Network(tuple(theories.setdefault(theory.layer, theory) for theory in derived))


@parameters_by_name
@dataclass(frozen=True)
class Theory(TokenTheory, Shown):
    """Kernels, susceptibilities, criticality and finite width of a deep network of equal layers.

    Args:
        layer: the forward equation.
        positions: in each input.

    Examples:
        >>> sr.derive("relu", layer="transformer", positions=sr.Tokens(16)).positions.size
        16
        >>> theory = sr.derive(sr.residual("relu", gamma="1/2"))
        >>> theory.layer.text
        'z/2 + Dense(relu(z))'
        >>> theory.chi_perp.expr
        C_W/2 + 1/4
        >>> theory.critical_points[0].C_W
        3/2
    """

    _names = THEORY_NAMES

    def _title(self) -> str:
        names = ", ".join(formula.name for formula in self.layer.formulas)
        return f"theory of {names or 'a linear layer'} in the layer {self.layer.name}"

    def _facts(self) -> list[Fact]:
        """The layer only: everything else is derived when it is asked for, and may take its time."""
        return [equation(str(left), latex(left), right) for left, right in self.layer.equations]

    def _repr_html_(self) -> str:
        return views().html(self)

    if not TYPE_CHECKING:  # a checker would take every name for an attribute

        def __getattr__(self, name: str) -> Any:
            """An observable that was registered; else say which name was meant.

            Errors of attributes that exist stay what they are.
            """
            if "layer" in vars(self) and name in self.observables:  # not while it is being unpickled
                return self.quantity(name)
            if name.startswith("_") or hasattr(type(self), name):
                return super().__getattribute__(name)  # it raises: what is missing may be another object's attribute
            guess = f"did you mean {OTHER_WORDS[name]}?" if name in OTHER_WORDS else nearest(name, dir(self))
            missing = f"'{type(self).__name__}' object has no attribute '{name}'"
            raise AttributeError(f"{missing}; {guess or 'dir(theory) lists its names'}")

    def page(self, width: Number = 80) -> str:
        """The page that ``symres derive`` prints, without its comparisons with oracles: derives all that is on it.

        Args:
            width: columns, 40 or more.

        Examples:
            >>> print(sr.derive("linear").page()[:23])
            linear in the layer mlp
        """
        return views().page(self, whole(width, "width", 40))

    def summary(self) -> dict[str, Plain]:
        """The results in words and floats, for programs: ``json.dumps`` writes them.

        Returns:
            activations, layer, forward, quantities (name: status), universality_class, critical_points (each with K,
            C_W, C_b, stability), numbers_at, critical_line, exponents and remarks. A formula that is no number, not
            even with gamma = 0, is text.

        Examples:
            >>> sr.derive("linear").summary()["critical_points"][0]["C_W"]
            1.0
        """
        return views().summary(self)

    def advice(self, depth: Number = DEPTH, width: Number = WIDTH, inputs_kernel: Number | None = None) -> Advice:
        """How to initialise networks of this layer, tried in networks that are drawn from the forward equation.

        Candidates are critical points, points of the critical line, branches that are small enough for this depth, and
        what a search finds; the first is advised whose kernels and gradients stay within a factor of 5, on average and
        in half of the single networks, and are finite for first kernels four times as large.

        Args:
            depth: number of layers.
            width: of the stream.
            inputs_kernel: the mean square of the inputs, if it is given: it is kept where networks survive with it.

        Returns:
            Advice(C_W, C_b, parameters, inputs_kernel, holds, reasons, ...): ``inputs_kernel`` is the mean square that
            the inputs need, for a first Dense with the same C_W and C_b; ``holds`` is False where nothing works, and
            the reasons then name a layer near this one for which something does.

        Raises:
            DeclarationError: a depth, a width or a mean square that is none.

        Examples:
            An activation with slopes 2 and 1 keeps every kernel at ``C_W = 2/(4 + 1)``:

            >>> advice = sr.derive("where(z > 0, 2*z, z)").advice(depth=20, width=200)
            >>> advice.C_W, advice.C_b, advice.holds
            (0.4, 0.0, True)
        """
        return cast(Advice, views().advice(self, depth, width, inputs_kernel))

    def subs(self, /, **values: Number) -> Theory:
        """The theory with numbers in the place of parameters, by name.

        Args:
            values: int, float, str, Fraction or sympy number for each parameter that is replaced; expressions too.

        Raises:
            DeclarationError: the layer has no such parameter, or a variance is negative.

        Examples:
            >>> sr.derive("prelu").subs(slope="1/3").kernel_map.expr
            5*C_W*K/9 + C_b
        """
        return Theory(self.layer.subs(**values), self.positions)

    @cached_property
    def jacobian_expr(self) -> sp.Expr | None:
        """``J^{l0,l}`` of any depth as a function of l0, l, the kernel K of layer 0 and the parameters.

        None where the product of chi_perp along the kernel's path has no closed form; of a batch, K is the variance
        over its inputs.

        Examples:
            >>> sr.derive("where(z > 0, z, -z/3)", layer="residual", gamma=1).jacobian_expr
            (5*C_W/9 + 1)**(l - l0)
        """
        flow, _, chi = (quantity.expr for quantity in self.flow_maps)
        if flow is None or chi is None or chi.has(sp.oo):
            return None
        if not chi.has(symbols.K):
            return chi ** (_LAST - _FIRST)
        # K' = K + B and chi_perp = 1 + A/K, as of a normalised branch beside a skip of weight 1: the product of
        # (K + A + m B)/(K + m B) over the layers m
        step, excess = canonical(flow - symbols.K), canonical((chi - 1) * symbols.K)
        if step.has(symbols.K) or excess.has(symbols.K) or step == 0:
            return None
        start, moved = symbols.K / step, (symbols.K + excess) / step
        rising = sp.gamma(_LAST + moved) / sp.gamma(_FIRST + moved)
        return rising * sp.gamma(_FIRST + start) / sp.gamma(_LAST + start)

    def in_depth(self) -> DepthFormulas:
        """Kernel, contributions of layers and displacement as formulas in the depth l, where K' is affine in K.

        Returns:
            DepthFormulas: ``.kernel``, ``.added`` and ``.displacement`` are Quantities in K, l and the parameters, each
            compared with the recursion; ``.scale_for()`` is the weight of the branch that leads to a last kernel.

        Raises:
            NoClosedForm: another kernel map, a batch, or positions: iterate ``kernels`` there.

        Source:
            Fischer et al. (64) to (68); Chizat, Proposition 2.1.

        Examples:
            >>> sr.derive("z + xi*Dense(relu(z), C_b=0)").in_depth().displacement.expr
            K*(C_W*xi**2/2 + 1)**l - K
        """
        if self.has_covariance:
            found = "inputs of a batch, and positions, move each other"
            raise NoClosedForm("closed forms in the depth", found, "iterate kernels()")
        formulas = DepthFormulas(self.kernel_map, self.memory)
        _ = formulas.kernel  # complains where there are none
        return formulas

    kernels = of_networks(Network.kernels)
    similarity = of_networks(Network.similarity)
    entropy = of_networks(Network.entropy)
    apjn = of_networks(Network.apjn)
    perpendicular_modes = of_networks(Network.perpendicular_modes)
    parallel_modes = of_networks(Network.parallel_modes)
    dual_kernels = of_networks(Network.dual_kernels)
    displacement = of_networks(Network.displacement)
    jacobian = of_networks(Network.jacobian)

    def _line_remark(self) -> str:
        """What the critical line separates, or how to look for one without a formula; empty where none was found."""
        explicit = self.critical_line_expr
        if explicit is not None or self.critical_line_averages is not None:
            return critical_line.separation(self.flow_maps, explicit)
        perp = self.chi_perp
        free = {symbols.C_W, symbols.C_b} <= {*self.kernel_map.symbols, *self.kernel_map.unused}
        if not free or perp.expr is None or not perp.expr.has(symbols.C_W) or not perp.expr.has(symbols.K, symbols.C_b):
            return ""
        if any(point.K == symbols.K or point.along for point in self.critical_points):
            return ""
        if not critical_line.is_found(self.flow_maps):
            return ""
        return "critical lines have no formula here: in Python critical_line(C_W=...) searches for their C_b"

    def _end(self) -> tuple[Quantity, ...]:
        """The kernel in which networks end, and chi_perp there, where they are formulas of the parameters."""
        try:
            star = self.at_fixed_point()
        except NoClosedForm:
            return ()
        return () if star.is_implicit or not star.K.symbols else (star.K, star.chi_perp)

    def report(
        self, settings: dict[str, str] | None = None, checks: tuple[Verdict, ...] = (), command: str = ""
    ) -> Report:
        """Everything that is known, as plain data for a page or a document.

        Examples:
            >>> report = sr.derive("linear").report()
            >>> report.universality_class, [quantity.name for quantity in report.quantities][:2]
            ('scale-invariant', ['phi_squared', 'kernel_map'])
        """
        explicit, curve = self.critical_line_expr, self.critical_line_averages
        return Report(
            activation=", ".join(f.name for f in self.layer.formulas),
            formulas=tuple((f.name, f.expr) for f in self.layer.formulas),
            heads=tuple(latex(f) for f in self.layer.formulas),
            layer=self.layer.name,
            equations=self.layer.equations,
            program=self.layer.program.lines,
            settings=tuple((settings or {}).items()),
            quantities=tuple(self.quantities.values()),
            critical_points=self.critical_points,
            universality_class=self.universality_class,
            end=self.attempted(Stage.CRITICALITY, "formulas at the fixed point", self._end, ()),
            critical_line=explicit,
            critical_line_weights=self.critical_line_weights,
            critical_curve=curve,
            line_remark=self.attempted(Stage.LINE, "side of the critical line", self._line_remark, ""),
            exponents=self.exponents,
            vertex=self.attempted(Stage.FINITE_WIDTH, "vertex recursion", lambda: vertex_formulas(self), None),
            growth=self.growth_curve,
            finite_width=() if self.growth_curve is None else self._growth_formulas,
            remarks=self._criticality.remarks,
            given_up=self.given_up,
            checks=checks,
            command=command,
        )
