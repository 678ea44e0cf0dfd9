"""The figures of Doshi, He and Gromov (arXiv:2111.12143) on PyTorch models, and their test of criticality as a recipe.

    python -m derivations.doshi_figures.NAME [--quick] [--out DIR]

measures networks that know nothing of symres, writes NAME.png and NAME.csv, and prints what was measured beside the
theory. A run takes some minutes on two cores, with ``--quick`` smaller networks take some seconds.

apjn_with_depth         figure 1: power laws of Jacobian norms in depth, with their exponents
mlp_phases              figure 2: phase diagrams of perceptrons, with LayerNorm, skip connections, and both
resnet_layer_norm       figure 4: ResNet110 with LayerNorm; what the source has for mu < 1 comes from zero padding
mixer_phases            figure 5: MLP-Mixer
resnet_batch_norm       figure 6: ResNet110 and fully connected blocks with BatchNorm
find_critical_weights   the numerical test of section 2: turns sigma_w of any model until chi_J = 1

models                  the networks
last_block              chi_J of the last block, measured
kernel_path             the theory of many networks at once
kernels_of_pixels       the theory of ResNet with LayerNorm on the pixels of images
critical_search         the search of a critical scale of weights
pixels, findings        pictures of planes; tables, files and the command line
"""
