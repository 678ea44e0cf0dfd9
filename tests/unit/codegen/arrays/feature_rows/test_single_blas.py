from contextlib import ExitStack
from threading import Barrier, get_ident

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from symres.codegen.arrays.feature_rows import single_blas
from symres.codegen.arrays.feature_rows.kernels_of_rows import _kernels_of_rows
from symres.codegen.targets.c import binding

BLAS = ThreadpoolController().select(user_api="blas")


def threads():
    return {library.num_threads for library in BLAS.lib_controllers}


@pytest.fixture
def two_threads():
    with BLAS.limit(limits=2):
        yield


def test_blas_has_its_threads_back_when_the_last_context_ends(two_threads):
    with ExitStack() as second:
        with single_blas._single_blas() as free:
            assert free == 2 and threads() == {1}
            assert second.enter_context(single_blas._single_blas()) == 1
        assert threads() == {1}
    assert threads() == {2}


def test_errors_end_it_too(two_threads):
    with pytest.raises(ValueError), single_blas._single_blas():
        _kernels_of_rows(np.ones((2, 0)), None, np.dtype(float))
    assert threads() == {2}


def test_networks_multiply_features_so(two_threads, monkeypatch):
    class Nothing:
        def of_arrays(self, name):
            return lambda *arguments: 0

    def seen(X1, X2, kind, each):
        assert threads() == {1}
        assert len(set(each(lambda _: (meeting.wait(10), get_ident())[1], range(2)))) == 2
        return _kernels_of_rows(X1, X2, kind, each)

    meeting = Barrier(2)
    monkeypatch.setattr(single_blas, "_kernels_of_rows", seen)
    binding.network_of(Nothing(), (), 1)["dual_kernel_matrix"](np.ones((3, 2)))
    assert threads() == {2} and not meeting.broken


@pytest.mark.parametrize("others", [None, 130])
def test_blocks_in_any_order_are_the_product(others):
    rng = np.random.default_rng(0)
    X1, X2 = rng.standard_normal((300, 7)), None if others is None else rng.standard_normal((others, 7))
    backwards = _kernels_of_rows(X1, X2, np.dtype(float), lambda function, blocks: map(function, reversed(blocks)))
    whole, part = X1 @ (X1 if X2 is None else X2).T / 7, np.triu if X2 is None else np.asarray
    np.testing.assert_allclose(part(backwards[2]), part(whole), rtol=0, atol=1e-14)
