"""Families of timm and torchvision: the small variants, on small images where they take them."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import nn

from .families import Family, load_torchvision


def of_timm(name: str, options: dict[str, Any]) -> nn.Module:
    """A model of timm."""
    load_torchvision()
    import timm

    return timm.create_model(name, pretrained=False, num_classes=10, **options)


def metaformer() -> nn.Module:
    """PoolFormer: averages over neighbours mix positions."""
    load_torchvision()
    from timm.models import metaformer as timm_models

    return timm_models.MetaFormer(depths=(1, 1, 1, 1), dims=(16, 32, 48, 64), num_classes=10)


def mixer(kind: str) -> nn.Module:
    """Perceptrons that mix positions: "MlpMixer", "ResMLP" or "gMLP"."""
    load_torchvision()
    from timm.models import mlp_mixer as timm_models

    blocks: dict[str, dict[str, Any]] = {
        "MlpMixer": {},
        "ResMLP": {"block_layer": timm_models.ResBlock, "norm_layer": timm_models.Affine, "mlp_ratio": 4},
        "gMLP": {
            "block_layer": timm_models.SpatialGatingBlock,
            "mlp_layer": timm_models.GatedMlp,
            "mlp_ratio": 6,
        },
    }
    shape: dict[str, Any] = {"img_size": 32, "patch_size": 8, "embed_dim": 64, "num_blocks": 3, "num_classes": 10}
    return timm_models.MlpMixer(**shape, **blocks[kind])


def of_torchvision(path: str, options: dict[str, Any]) -> nn.Module:
    """A model of torchvision, by its name in ``torchvision.models``."""
    load_torchvision()
    import torchvision

    built: Any = torchvision.models
    for name in path.split("."):
        built = getattr(built, name)
    return built(weights=None, num_classes=10, **options)


def images(size: int, count: int) -> torch.Tensor:
    """Gaussian images."""
    return torch.randn(count, 3, size, size)


def video() -> torch.Tensor:
    """Gaussian films."""
    return torch.randn(2, 3, 4, 32, 32)


_TOKENS = {"img_size": 32, "embed_dim": 64, "depth": 3}
# name, pixels of an edge, what else the constructor is told; names with "test" are timm's own smallest variants
_TIMM: tuple[tuple[str, int, dict[str, Any]], ...] = (
    ("test_resnet", 32, {}),
    ("resnet10t", 64, {"channels": (16, 32, 48, 64)}),
    ("resnetv2_18", 32, {"layers": (1, 1, 1, 1), "channels": (16, 32, 48, 64)}),
    ("seresnet18", 32, {"layers": (1, 1, 1, 1), "channels": (16, 32, 48, 64)}),
    ("test_nfnet", 32, {}),
    ("test_byobnet", 32, {}),
    ("densenet121", 32, {"block_config": (2, 2, 2), "growth_rate": 8}),
    ("regnetx_002", 32, {}),
    ("test_efficientnet", 32, {}),
    ("mobilenetv2_050", 32, {}),
    ("mobilenetv3_small_050", 32, {}),
    ("ghostnet_050", 32, {}),
    ("rexnet_100", 32, {}),
    ("test_convnext", 32, {}),
    ("test_mambaout", 32, {}),
    ("test_maxvit", 64, {"img_size": 64}),
    ("test_coatnet", 64, {"img_size": 64}),
    ("edgenext_xx_small", 64, {}),
    ("test_vit", 32, {"img_size": 32}),
    ("deit_tiny_distilled_patch16_224", 32, {**_TOKENS, "patch_size": 8, "num_heads": 2}),
    ("beit_base_patch16_224", 32, {**_TOKENS, "patch_size": 8, "num_heads": 2}),
    ("eva02_tiny_patch14_224", 28, {**_TOKENS, "img_size": 28, "patch_size": 7, "num_heads": 2}),
    ("cait_xxs24_224", 32, {**_TOKENS, "patch_size": 8, "num_heads": 2}),
    ("xcit_nano_12_p16_224", 32, {**_TOKENS, "num_heads": 2}),
    ("swin_tiny_patch4_window7_224", 56, {"img_size": 56, "embed_dim": 24, "depths": (2, 2), "num_heads": (2, 4)}),
    ("pvt_v2_b0", 64, {"depths": (1, 1, 1, 1)}),
    ("coat_lite_tiny", 64, {"img_size": 64, "embed_dims": (32, 32, 48, 64), "serial_depths": (1, 1, 1, 1)}),
    ("levit_128s", 64, {"img_size": 64, "embed_dim": (32, 48, 64), "depth": (1, 1, 1), "num_heads": (2, 3, 4)}),
)
_TORCHVISION: tuple[tuple[str, dict[str, Any]], ...] = (
    ("squeezenet1_1", {}),
    ("shufflenet_v2_x0_5", {}),
    ("mnasnet0_5", {}),
    ("alexnet", {}),
    ("googlenet", {"init_weights": True, "aux_logits": False}),
    ("segmentation.deeplabv3_mobilenet_v3_large", {"weights_backbone": None}),
)

IMAGE_FAMILIES = (
    *(Family(name, "timm", partial(of_timm, name, options), partial(images, size, 4)) for name, size, options in _TIMM),
    Family("PoolFormer", "timm", metaformer, partial(images, 64, 4)),
    *(Family(kind, "timm", partial(mixer, kind), partial(images, 32, 4)) for kind in ("MlpMixer", "ResMLP", "gMLP")),
    *(
        Family(path.rpartition(".")[2], "torchvision", partial(of_torchvision, path, options), partial(images, 64, 4))
        for path, options in _TORCHVISION
    ),
    Family("r3d_18", "torchvision", partial(of_torchvision, "video.r3d_18", {}), video),
)
