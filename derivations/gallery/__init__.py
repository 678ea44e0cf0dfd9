"""Questions of people who work with deep networks, each answered by a picture.

    python -m derivations.gallery               lists the examples, each with its question
    python -m derivations.gallery plot_NAME     computes, checks, and writes plot_NAME.png

Every example is a page of the documentation and a notebook. Names begin with their topic: ``init`` initialisation,
``training`` models that do not train, ``residual`` branches and width, ``kernels``, ``phases`` of deep networks,
``maths`` of Gaussian averages, ``code`` that is generated. ``readme_picture`` draws the README's first picture.
"""
