"""The theory at order 1/n: how the empirical averages of a network of width n fluctuate, and what follows.

Neurons notice one another only by empirical averages: the mean of a normalisation, the covariance of a dense layer. At
width n each of these differs from its value at infinite width by its own noise of order ``1/sqrt(n)``, and by its
response to the noise of all averages before it.

Reading order: ``layer_response`` (which averages a layer has, and how each responds to earlier ones);
``hermite_space`` (functions as coefficients); ``layer_noise`` (one layer in numbers at one or two inputs);
``layer_numbers`` (at any number); ``fluctuations`` (the recursion in depth, and its error).
"""
