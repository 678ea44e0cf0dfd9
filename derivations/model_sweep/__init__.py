"""Does symres do something sensible with any model? Families of PyTorch models from configurations, one after another.

Each family is built with random weights, in a process of its own with a time limit, and given to ``st.measure``,
``st.read`` and ``st.init_``. Before and after ``st.init_`` its signals are measured by hooks of PyTorch that share no
code with symres. A family that symres refuses is told with the sentence; an exception that is not symres's own, an
initialisation that sets nothing and says nothing, and signals that are ten times worse afterwards are marked.

Run ``python -m derivations.model_sweep [--only NAME ...] [--out sweep.md]`` in an environment with the extra
``models`` (``pip install -e ".[models]"``): half an hour on one core. ``--list`` prints the names.

families            what a family is, and the table of all of them
image_families      timm and torchvision
language_families   transformers: text, sound, images
plain_families      modules of PyTorch alone: a SIREN, a PINN, a U-Net, an LSTM, a graph network and others
hook_signals        sizes of activations and gradients over the depth, by hooks
family_run          what happens in the process of one family
own_process         the process, with its time limit
preloaded           what all processes load
sweep_table         the tables
"""
