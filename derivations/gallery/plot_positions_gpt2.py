r"""
Theory over a random GPT-2
==========================

*What does a freshly drawn GPT-2 do to its tokens, block by block, and does a theory without this network know it?*

``st.predict`` reads the layers and the variances of a model's weights, takes the covariances of its tokens where the
first block begins, and draws what infinitely wide blocks make of them: the norm of the stream, the cosine of two tokens
and squared gradients.
"""

import matplotlib.pyplot as plt
import torch
import transformers

import symres.torch as st

# %%
# A model
# -------
# Eight blocks of width 256, as its configuration draws them; 40 tokens at random.

torch.manual_seed(0)
shape = {"n_embd": 256, "n_layer": 8, "n_head": 8, "n_positions": 64}
configuration = transformers.GPT2Config(
    **shape, vocab_size=500, bos_token_id=1, eos_token_id=1
)
model = transformers.GPT2Model(configuration).eval()
tokens = torch.randint(0, 500, (2, 40))

# %%
# Which layers the theory sees in it
# ----------------------------------

reading = st.read(model, tokens, check=False)
for block in reading.recognised:
    print(f"{block.count} x {block.text}")

# %%
# Prediction and measurement
# --------------------------

plt.style.use("tableau-colorblind10")
measured = st.predict(model, tokens, check=False, progress=False)
figure = measured.plot()

# %%
# **What it shows**: dots are the model, lines the theory, bands what the theory allows for its finite width. Attention
# brings tokens together from block to block, as far as a similarity of 0.3 here; the branches' small last weights, GPT-2
# divides them by the root of twice its depth, keep the growth of norm and gradients to that of a few blocks.

table = measured.frame()
blocks = table[table["place"].str.fullmatch(r"h\.\d")]
assert len(blocks) == 8
assert (blocks["kernel"] / blocks["kernel_theory"] - 1).abs().max() < 0.05
assert (blocks["token_cosine"] - blocks["token_cosine_theory"]).abs().max() < 0.05
for column in ("kernel", "token_cosine", "apjn_forward"):
    assert blocks[f"{column}_z"].abs().max() < 4
print(blocks[["place", "kernel", "kernel_theory", "token_cosine", "token_cosine_theory"]])
