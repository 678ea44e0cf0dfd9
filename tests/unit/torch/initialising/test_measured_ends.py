"""What st.init_ measures at its end: behind operations that it does not read, and after one step of Adam."""

import copy
import math

import pytest
import torch
from torch import nn
from torch.nn import functional

import symres.torch as st
from symres.core.errors import DeclarationError
from tests.oracles import small_starts as nets
from tests.oracles.hooked_streams import hooked_streams
from tests.oracles.torch_blocks import Computed, mlp
from tests.torch_state import untouched


class TestBehindWhatIsNotRead:
    def test_dense_layers_behind_both_signs(self, vectors):
        """relu(x)^2 + relu(-x)^2 = x^2, in twice as many neurons: C_W = 2 keeps the kernel."""
        model = nets.both_signs_net()
        report = st.init_(model, inputs=vectors, seed=0)
        for position in range(2, 20, 2):
            assert report[f"{position}.weight"].variance == pytest.approx(2, rel=1e-6)
            assert report[f"{position}.weight"].reason == "measured"
        places = [str(k) for k in range(0, 20, 2)]
        kernels, gradients = hooked_streams(model.double(), places, (vectors.double(),))
        assert max(kernels) < 5 * min(kernels) and max(gradients) < 5 * min(gradients)

    def test_convolutions_behind_relu_and_pools(self):
        model, images = nets.pooled_net(), torch.randn(8, 3, 24, 24, generator=torch.Generator().manual_seed(2))
        report = st.init_(model, inputs=images, seed=0)
        kernels, entering = {}, {}
        for name, module in model.named_modules():
            if isinstance(module, nn.Conv2d):

                def hook(_, args, out, name=name):
                    entering[name], kernels[name] = float(args[0].square().mean()), float(out.square().mean())

                module.register_forward_hook(hook)
        with torch.no_grad():
            model.double()(images.double())
        names = list(kernels)
        pooled = [name for name in names if report[f"{name}.weight"].reason == "measured"]
        assert len(pooled) == 2
        for name in pooled:  # fan_in*Var(w) times what enters is the kernel of the convolution before it
            expected = kernels[names[names.index(name) - 1]]
            assert report[f"{name}.weight"].variance * entering[name] == pytest.approx(expected, rel=1e-3)
        assert max(kernels.values()) < 5 * min(kernels.values())

    def test_layers_behind_frozen_ones_restore_the_kernel(self, vectors):
        model = nn.Sequential(*mlp(2, 128)[:4], nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
        nn.init.normal_(model[2].weight, std=0.01)
        model[2].weight.requires_grad_(False)
        st.init_(model, inputs=vectors)
        kernels, _ = hooked_streams(model.double(), ["0", "2", "4"], (vectors.double(),))
        assert kernels[1] < kernels[0] / 10
        assert kernels[2] == pytest.approx(kernels[0], rel=0.5)


def outgrown(x, norm, dense):
    """No weights can keep the kernel: the stream grows beside its branch by something that is not read."""
    return x + torch.sort(x).values + dense(functional.relu(norm(x)))


def test_failing_networks_are_refused_and_as_they_were_and_force_keeps_them(vectors):
    blocks = [Computed(outgrown, nn.LayerNorm(64), nn.Linear(64, 64)) for _ in range(8)]
    model = nn.Sequential(nn.Linear(20, 64), *blocks, nn.LayerNorm(64), nn.Linear(64, 10))
    told = r"kernels change by a factor of .* most of it at .*force=True"
    with untouched(model), pytest.raises(DeclarationError, match=told) as error:
        st.init_(model, inputs=vectors)
    assert "\n" not in str(error.value)
    report = st.init_(model, inputs=vectors, force=True)
    assert not report.check.holds and any("kernels change by a factor of" in note for note in report.notes)


def change_by_adam(model, inputs, places):
    """By torch.optim.Adam itself, on the squared error from standard normal targets of the seed 0."""
    kept = {}
    for name in places:
        model.get_submodule(name).register_forward_hook(lambda _, a, out, name=name: kept.update({name: out.detach()}))
    output = model(inputs)
    before = dict(kept)
    source = torch.Generator().manual_seed(0)
    targets = torch.stack([torch.randn(output.shape[1], generator=source) for _ in output]).to(output)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    functional.mse_loss(output, targets).backward()
    optimiser.step()
    with torch.no_grad():
        model(inputs)
    return [float((kept[name] - before[name]).norm() / before[name].norm()) for name in places]


class TestOneStepOfAdam:
    def test_measure_and_init_report_it(self, vectors):
        model = mlp(2, 64).double()
        report = st.init_(model, inputs=vectors.double())
        frame = st.measure(model, vectors.double(), progress=False).frame().set_index("place")
        expected = change_by_adam(model, vectors.double(), ["0", "2"])
        assert [s.adam_change for s in report.check.streams] == pytest.approx(expected, rel=1e-6)
        assert list(frame.adam_change[["0", "2"]]) == pytest.approx(expected, rel=1e-6)
        assert "One step of Adam at 0.001" in str(report)

    def test_parts_of_the_inputs_make_one_step(self, vectors):
        model = mlp(2, 64).double()
        whole, parts = (st.measure(model, vectors.double(), batch_size=n, progress=False).frame() for n in (None, 5))
        assert list(whole.adam_change[:2]) == pytest.approx(list(parts.adam_change[:2]), rel=1e-12)

    def test_batch_norms_in_train_mode_and_frozen_weights(self, vectors):
        model = nn.Sequential(nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 10)).double()
        model[0].requires_grad_(False)
        with untouched(model):
            frame = st.measure(model, vectors.double(), mode="train", progress=False).frame().set_index("place")
        assert frame.adam_change["0"] == 0 and frame.adam_change["3"] > 0
        model.requires_grad_(False)
        assert math.isnan(st.measure(model, vectors.double(), progress=False)["3"].adam_change)

    def test_more_than_the_norm_warns(self, vectors):
        """Inputs that are not normalised: their first weights are smaller than a step."""
        with pytest.warns(UserWarning, match=r"one step of Adam at 0.001 .* times its norm; start .* below about"):
            report = st.init_(mlp(2, 64), inputs=500 * vectors)
        assert 1 < report.check.most_changed.adam_change < 10
        model = mlp(2, 64)
        nn.init.normal_(model[2].weight, std=1e-5)
        nn.init.zeros_(model[2].bias)
        with pytest.warns(UserWarning, match=r"one step of Adam at 0.001 on random targets changes 2"):
            st.measure(model, vectors, progress=False)

    def test_more_than_ten_times_the_norm_is_refused(self, vectors):
        model = mlp(2, 64)
        with pytest.raises(
            DeclarationError, match=r"one step of Adam at 0.001 .* its norm; use force=True and start with .* below"
        ):
            st.init_(model, inputs=3000 * vectors)
        with pytest.warns(UserWarning, match="one step of Adam"):
            report = st.init_(model, inputs=3000 * vectors, force=True)
        assert report.check.most_changed.adam_change > 10


class Dropping(nn.Module):
    """Dropout as a function, in train mode or always."""

    def __init__(self, share, is_switched=True):
        super().__init__()
        self.share, self.is_switched = share, is_switched

    def forward(self, x):
        return functional.dropout(x, self.share, self.training if self.is_switched else True)


class DroppedBranch(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.a, self.b = nn.LayerNorm(64), nn.Linear(64, 64), nn.Linear(64, 64)

    def forward(self, x):
        return x + functional.dropout(self.b(self.a(self.norm(x)).relu()), 0.25, self.training)


class TestDropout:
    def model(self, share=0.5):
        return nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Dropout(share), nn.Linear(64, 10))

    def test_active_dropout_is_named(self, vectors):
        report = st.init_(self.model(), inputs=vectors)
        assert any(note.startswith("dropout is active in 2:") and "1/(1 - p)" in note for note in report.notes)

    @pytest.mark.exhaustive
    @pytest.mark.parametrize(("act", "share"), [(nn.ReLU, 0.5), (nn.ReLU, 0.1), (nn.SiLU, 0.2), (nn.Tanh, 0.3)])
    @pytest.mark.parametrize("drop", [nn.Dropout, lambda p: nn.Dropout(p, inplace=True), Dropping])
    def test_kernels_survive_the_masks_of_train_mode(self, act, share, drop, vectors):
        # E[mask^2] = 1/(1 - p): C_W <phi^2> grows by it in each layer, and the squared derivative with it
        blocks = [nn.Sequential(act(), drop(share), nn.Linear(256, 256)) for _ in range(12)]
        model = nn.Sequential(nn.Linear(20, 256), *blocks, act(), nn.Linear(256, 10))
        st.init_(model, inputs=vectors, seed=1)
        if act is nn.ReLU:
            assert float(256 * blocks[3][2].weight.var()) == pytest.approx(2 * (1 - share), rel=0.02)
        first, last = (float(model[: depth + 1](vectors).square().mean()) for depth in (0, 12))
        assert 1 / 3 < last / first < 3

    @pytest.mark.exhaustive
    def test_a_branch_makes_up_for_its_mask(self, vectors):
        model = nn.Sequential(nn.Linear(20, 64), DroppedBranch(), DroppedBranch(), nn.Linear(64, 10))
        with_masks, without = (st.init_(net, inputs=vectors, seed=1) for net in (model, copy.deepcopy(model).eval()))
        weights = [report["1.b.weight"].variance for report in (with_masks, without)]
        assert weights[0] / weights[1] == pytest.approx(0.75, rel=0.01)

    def test_alpha_dropout_keeps_mean_squares_and_uncalled_modules_do_nothing(self, vectors):
        model = nn.Sequential(nn.Linear(20, 64), nn.SELU(), nn.AlphaDropout(0.2), nn.Linear(64, 10))
        model[1].unused = nn.Dropout(0.3)
        notes = [note for note in st.init_(model, inputs=vectors).notes if "dropout" in note]
        assert len(notes) == 1
        assert notes[0].startswith("dropout is active in 2, inside of which it is not followed")

    @pytest.mark.parametrize(("is_switched", "said"), [(True, "in 1: weights are set and measured for train mode"),
                                                       (False, "in 1 in eval mode too")])  # fmt: skip
    def test_a_function_that_drops_is_named(self, is_switched, said, vectors):
        model = nn.Sequential(nn.Linear(20, 64), Dropping(0.5, is_switched), nn.ReLU(), nn.Linear(64, 10))
        assert any(f"dropout is active {said}" in note for note in st.init_(model, inputs=vectors).notes)
        notes = st.init_(model.eval(), inputs=vectors).notes
        assert any(f"dropout is active {said}" in note for note in notes) is not is_switched

    def test_other_dropout_is_not(self, vectors):
        for model in (self.model(0.0), self.model().eval()):
            assert not any("dropout" in note for note in st.init_(model, inputs=vectors).notes)


def test_a_generator_decides_and_the_report_has_the_seed():
    models, source = [mlp(2, 64) for _ in range(4)], torch.Generator().manual_seed(3)
    state = torch.get_rng_state()
    reports = [st.init_(model, generator=source) for model in models[:2]]
    st.init_(models[2], generator=torch.Generator().manual_seed(3))
    st.init_(models[3], seed=reports[1].seed)
    assert torch.equal(torch.get_rng_state(), state)
    first, second, again, seeded = (model[2].weight for model in models)
    assert torch.equal(first, again) and not torch.equal(first, second) and torch.equal(second, seeded)
