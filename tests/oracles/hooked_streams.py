"""Kernels and gradients at modules of a PyTorch model, by plain hooks and one backward pass: no code of symres."""

import torch


def hooked_streams(model, names, inputs, draws=8, seed=0):
    """Mean square of what leaves each module, and the squared norm of the Jacobian to the output for each output entry.

    Args:
        model: in float64 for sharp numbers.
        names: of modules, whose first tensor counts.
        inputs: arguments of the model.
        draws: random signs of the output.
        seed: of the signs.

    Returns:
        Two lists, in the order of the names.
    """
    found = {}
    handles = []
    for name in names:

        def keep(module, args, output, name=name):
            tensor = output[0] if isinstance(output, tuple) else output
            if not tensor.requires_grad:
                tensor.requires_grad_()
            found[name] = tensor

        handles.append(model.get_submodule(name).register_forward_hook(keep))
    output = model(*inputs)
    output = output if isinstance(output, torch.Tensor) else output[0]
    for handle in handles:
        handle.remove()
    source = torch.Generator().manual_seed(seed)
    squares = [0.0] * len(names)
    for _ in range(draws):
        signs = (torch.randint(0, 2, output.shape, generator=source) * 2 - 1).to(output.dtype)
        gradients = torch.autograd.grad((output * signs).sum(), [found[n] for n in names], retain_graph=True)
        squares = [
            s + float(g.square().sum()) / output.numel() / draws for s, g in zip(squares, gradients, strict=True)
        ]
    return [float(found[name].detach().square().mean()) for name in names], squares
