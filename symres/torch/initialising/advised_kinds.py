"""What the theory advises for a kind of layer in a model: variances, the weight of branches, the first kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import sympy as sp

from ...core.errors import DeclarationError, SymresError
from ...core.symbols import C_W, C_b, L, M, xi, z
from ...layers.layer import Layer
from ...layers.nodes import Dense
from ...layers.positions import USUAL_TOKENS, Tokens
from ...results.advice.advice import Advice
from ...results.advice.parts import Origin, Topic
from ...studies.advice.advise import advice_of, advise, nearest, trial
from ...studies.advice.candidates import at_kernel
from ...studies.advice.flow import DepthFlow, Setting
from ...studies.advice.token_advice import where_apart
from ...theory.theory import Theory, derive
from .model_parts import CanonicalForm

TARGETS = ("critical", "match")


class NoNumbers(DeclarationError):
    """The theory has no numbers for a layer, not even such as do not hold."""


class NothingHolds(NoNumbers):
    """Numbers for a layer exist, and with none of them networks survive their depth, not even on average.

    A ``DeclarationError`` of ``init_``: the message has the setting that changes signals least, and the nearest layer
    that keeps them. The model is as it was.

    Examples:
        Twenty layers of width 4 are too deep:

        >>> layers = [part for _ in range(20) for part in (torch.nn.Linear(4, 4), torch.nn.ReLU())]
        >>> model = torch.nn.Sequential(*layers, torch.nn.Linear(4, 1))
        >>> try:
        ...     st.init_(model, inputs=torch.eye(4))
        ... except st.NothingHolds as error:
        ...     print(error.remedy)
        use a wider or another model, or force=True for the setting that changes signals least
    """


@dataclass(frozen=True, eq=False)
class KindAdvice:
    """Numbers for all layers of one kind.

    Args:
        form: the kind.
        advice: what was advised, with its trials in drawn networks.
        flow: its maps at infinite width.
        values: numbers for C_W, C_b and xi, as far as they stand in the form.
    """

    form: CanonicalForm
    advice: Advice
    flow: DepthFlow
    values: Mapping[sp.Symbol, float]

    @property
    def kernel(self) -> float:
        """Of the first stream."""
        return float(self.advice.kernel or 1.0)

    @property
    def variances(self) -> tuple[float, float]:
        """C_W and C_b; 0 where they do not stand in the form."""
        return self.values.get(C_W, 0.0), self.values.get(C_b, 0.0)

    @property
    def branch_weight(self) -> float:
        """xi; 1 where it does not stand in the form."""
        return self.values.get(xi, 1.0)

    def step(self, kernel: float, branch_weight: float | None = None) -> tuple[float, float]:
        """The next kernel, and chi_perp; of branches of another weight, if it is given."""
        values = self.values if branch_weight is None else {**self.values, xi: branch_weight}
        parameters = self.flow.theory.layer.parameters
        return self.flow.step({s: v for s, v in values.items() if s in parameters}, kernel)

    @property
    def regime(self) -> str:
        """How a network trains whose branches have the advised weight; empty where the theory does not say."""
        if xi not in self.values:
            return ""
        try:
            limit = self.flow.theory.depth_limit(xi.name)
            # draws of C_W/M for each of the M hidden units, times xi = c/sqrt(L)
            regime = limit.regime(1 / sp.sqrt(M * L))
        except SymresError:
            return ""
        weight = self.values[xi]
        scale = weight * self.advice.depth ** (1 / limit.power)
        return (
            f"xi = {weight:.4g} = {scale:.3g} depth^(-1/{limit.power}): kernels stay finite at any depth; "
            f'a network of large width and depth with this scaling trains in the regime "{regime.name}".'
        )


@dataclass
class Adviser:
    """Advice for one model, each kind asked once.

    Args:
        target: "critical", or "match".
        force: whether the least bad numbers are taken where nothing holds, not even averages over networks.
        kernel: of the first stream, where it is given by the model: by its embedding, or by ``target="match"``.
        largest: weight of branches before a norm, from which on tokens become equal.
        advised: advice that is known, by equation.
        refused: kinds for which there is none, with the reason.
        kinds: what was asked for, by layer, depth and width.
    """

    target: str
    force: bool
    kernel: float | None = None
    largest: float = 1.0
    advised: dict[str, Advice] = field(default_factory=dict)
    refused: dict[tuple[object, int, int, float | None], NoNumbers] = field(default_factory=dict)
    kinds: dict[tuple[object, int, int], KindAdvice] = field(default_factory=dict)

    def ask(self, form: CanonicalForm, depth: int, width: int) -> KindAdvice:
        """Numbers for a kind of layer.

        Raises:
            NoNumbers: nothing holds, with the reasons and the nearest layer for which something does.
            DeclarationError: no variances are critical at the kernel that ``target="match"`` asks for.
        """
        key = (form.layer, depth, width)
        kernel = self.kernel if form.is_residual or self.target == "match" else None
        if (*key, kernel) in self.refused:
            raise self.refused[*key, kernel]
        if key not in self.kinds:
            try:
                self.kinds[key] = self._asked(form, depth, width)
            except NoNumbers as error:
                self.refused[*key, kernel] = error
                raise
        return self.kinds[key]

    def _asked(self, form: CanonicalForm, depth: int, width: int) -> KindAdvice:
        """Advice for a kind, refused where nothing survives its depth."""
        layer, theory = form.layer, derive(form.layer)
        flow = DepthFlow(theory)
        advice = self._advice(form, flow, depth, width)
        asked = f"the initialisation of {depth} layers z' = {layer.text} of width {width}"
        if advice.C_W is None or advice.kernel is None:
            raise NoNumbers(asked, _reasons(advice), "initialise this model by hand, or change the layer")
        if not (self.force or advice.holds or (advice.trial is not None and advice.trial.holds_on_average)):
            near = nearest(theory, depth, width)
            raise NothingHolds(
                asked,
                _reasons(replace(advice, nearest=near)),
                "use a wider or another model, or force=True for the setting that changes signals least",
            )
        others = {s: advice.parameters[s.name] for s in layer.parameters if s.name in advice.parameters}
        return KindAdvice(form, advice, flow, {C_W: advice.C_W, C_b: float(advice.C_b or 0.0), **others})

    def _advice(self, form: CanonicalForm, flow: DepthFlow, depth: int, width: int) -> Advice:
        """Advice that is known, or for the kernel of the model, or of the theory at large."""
        layer, kernel = flow.theory.layer, self.kernel

        def tried(setting: Setting) -> Advice:
            return advice_of(flow, setting, trial(flow.theory, setting, depth, width), depth, width)

        advised = self.advised.get(layer.text)
        if advised is not None and (advised.depth, advised.width) == (depth, width):
            return advised
        if form.is_weighted and form.is_post_norm:  # branches of weight 1 and C_W = 1 before a norm keep the kernel
            values = {s: {C_b: 0.0, xi: self.largest}.get(s, 1.0) for s in layer.parameters}
            whole = tried(Setting(Origin.GIVEN if self.largest == 1 else Origin.BRANCH, values, 1.0))
            if whole.holds:  # gradients survive too
                return whole
        if self.target != "match" or kernel is None or form.is_residual:
            return advise(flow.theory, depth, width, kernel if form.is_residual else None, near=False)
        setting = at_kernel(flow, {}, kernel) if C_W in layer.parameters else None  # on the critical line
        if setting is not None:
            return tried(setting)
        advice = advise(flow.theory, depth, width, near=False)
        if not advice.any_scale or advice.kernel is None:
            raise DeclarationError(
                f"the kernel {kernel:.4g} of the first layer",
                f"no C_W and C_b >= 0 make z' = {layer.text} critical at this kernel",
                'use target="critical"',
            )
        return replace(advice, kernel=kernel, inputs_kernel=kernel / float(advice.C_W or 1.0))


def largest_weight(forms: Sequence[CanonicalForm]) -> float:
    """The largest weight of branches before norms, 1 at most, with which tokens with nothing in common stay apart.

    Neither kernels nor gradients tell behind a norm that tokens become equal.

    Args:
        forms: of the residual layers of a model, in order.
    """
    place = next(
        (k for k, form in enumerate(forms) if form.is_attention and form.is_post_norm and form.is_weighted), None
    )
    if place is None:
        return 1.0
    block = forms[place].forward
    for form in forms[place + 1 : place + 2]:
        block = block if form.is_attention else form.forward.subs(z, block)
    count = sum(form.is_attention for form in forms)
    whole = Theory(Layer(block.subs({C_W: 1, C_b: 0})), Tokens(USUAL_TOKENS))
    return where_apart(whole, count, {}, [xi.name], 1.0) or 1.0


def _reasons(advice: Advice) -> str:
    """Why nothing is advised, on one line."""
    has_near = advice.nearest is not None
    reasons = advice.reasons_but(Topic.SCHEMES, Topic.DRIFT)[:4] if has_near else advice.reasons[:3]
    return " ".join(reasons).removesuffix(".")  # the remedy follows


def averaged(entering: sp.Expr, kernel: float) -> float:
    """The mean square of a function of a stream, which is what a dense layer gives at C_W = 1 and C_b = 0."""
    return DepthFlow(derive(Layer(Dense(entering, 1, 0)))).step({}, kernel)[0]
