"""Networks that remember their normals: the averages have the law that is claimed."""

import numpy as np

from symres.check.nets.recording_net import RecordingNet


def test_the_averages_are_uncorrelated_and_of_variance_one():
    net = RecordingNet(64, np.random.default_rng(0))
    z = net.stream(20000, np.array([[1.7]]))
    y = net.dense(np.maximum(z, 0), 2.0, 0.1)
    net.dense(y, 1.0, 0.0, width=2.0)
    known = net.averages()
    assert known.shape == (20000, 4 + 8 + 4)
    correlations = known.T @ known / len(known)
    assert np.abs(known.mean(axis=0)).max() < 5 / np.sqrt(20000)
    assert np.abs(correlations - np.eye(16)).max() < 0.06
