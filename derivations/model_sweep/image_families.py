"""Families of timm and torchvision: the small variants, on small images where they take them."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import nn

from .families import Family, declare_operators


def of_timm(name: str, options: dict[str, Any]) -> nn.Module:
    """A model of timm."""
    declare_operators()
    import timm

    return timm.create_model(name, pretrained=False, num_classes=10, **options)


def of_torchvision(path: str, options: dict[str, Any]) -> nn.Module:
    """A model of torchvision, by its name in ``torchvision.models``."""
    declare_operators()
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


_SMALL = {"img_size": 64}
# name, pixels of an edge, what else the constructor is told
_TIMM: tuple[tuple[str, int, dict[str, Any]], ...] = (
    ("resnet10t", 64, {}),
    ("resnet18", 64, {}),
    ("resnetv2_18", 64, {}),
    ("resnext26ts", 64, {}),
    ("seresnet18", 64, {}),
    ("eca_resnext26ts", 64, {}),
    ("skresnet18", 64, {}),
    ("res2net50_14w_8s", 64, {}),
    ("resnest14d", 64, {}),
    ("nf_resnet26", 64, {}),
    ("nfnet_f0", 64, {"width_factor": 0.25}),
    ("regnetx_002", 64, {}),
    ("regnety_002", 64, {}),
    ("repvgg_a0", 64, {}),
    ("vgg11", 64, {"num_features": 256}),
    ("densenet121", 64, {"block_config": (3, 3, 3), "growth_rate": 16}),
    ("inception_v3", 96, {}),
    ("xception41", 64, {}),
    ("dpn48b", 64, {}),
    ("dla46_c", 64, {}),
    ("hrnet_w18_small", 64, {}),
    ("cspresnet50", 64, {}),
    ("cspdarknet53", 64, {}),
    ("ese_vovnet19b_dw", 64, {}),
    ("efficientnet_b0", 64, {}),
    ("mobilenetv2_050", 64, {}),
    ("mobilenetv3_small_050", 64, {}),
    ("mnasnet_small", 64, {}),
    ("ghostnet_050", 64, {}),
    ("rexnet_100", 64, {}),
    ("lcnet_050", 64, {}),
    ("convnext_atto", 64, {}),
    ("convmixer_768_32", 64, {"dim": 64, "depth": 8}),
    ("edgenext_xx_small", 64, {}),
    ("mobilevit_xxs", 64, {}),
    ("mobilevitv2_050", 64, {}),
    ("poolformer_s12", 64, {}),
    ("convformer_s18", 64, {"dims": (32, 64, 96, 128), "depths": (2, 2, 2, 2)}),
    ("mambaout_femto", 64, {}),
    ("starnet_s1", 64, {}),
    ("fastvit_t8", 64, {}),
    ("repvit_m0_9", 64, {}),
    ("vit_tiny_patch16_224", 64, {**_SMALL, "depth": 6}),
    ("deit_tiny_distilled_patch16_224", 64, {**_SMALL, "depth": 6}),
    ("deit3_small_patch16_224", 64, {**_SMALL, "depth": 6, "embed_dim": 96, "num_heads": 3}),
    ("beit_base_patch16_224", 64, {**_SMALL, "depth": 6, "embed_dim": 96, "num_heads": 3}),
    ("eva02_tiny_patch14_224", 56, {"img_size": 56, "depth": 6}),
    ("cait_xxs24_224", 64, {**_SMALL, "depth": 6, "embed_dim": 96, "num_heads": 3}),
    ("xcit_nano_12_p16_224", 64, {**_SMALL, "depth": 6}),
    ("swin_tiny_patch4_window7_224", 56, {"img_size": 56, "embed_dim": 48, "depths": (2, 2, 2, 2)}),
    ("swinv2_cr_tiny_224", 64, {**_SMALL, "embed_dim": 48, "depths": (2, 2, 2, 2), "window_size": 2}),
    ("maxvit_rmlp_pico_rw_256", 64, {**_SMALL}),
    ("coat_lite_tiny", 64, {**_SMALL}),
    ("coat_tiny", 64, {**_SMALL}),
    ("pvt_v2_b0", 64, {}),
    ("twins_svt_small", 64, {**_SMALL, "embed_dims": (32, 64, 96, 128), "depths": (2, 2, 2, 2)}),
    ("pit_ti_224", 64, {**_SMALL}),
    ("levit_128s", 64, {**_SMALL}),
    ("crossvit_tiny_240", 240, {}),
    ("tnt_s_patch16_224", 64, {**_SMALL, "depth": 4}),
    ("volo_d1_224", 64, {**_SMALL, "embed_dims": (48, 96, 96, 96), "num_heads": (3, 6, 6, 6), "layers": (2, 2, 2, 1)}),
    ("efficientformer_l1", 64, {}),
    ("mvitv2_tiny", 64, {**_SMALL, "embed_dim": 48, "depths": (1, 2, 2, 1)}),
    ("mixer_s32_224", 64, {**_SMALL, "embed_dim": 96, "num_blocks": 6}),
    ("resmlp_12_224", 64, {**_SMALL, "embed_dim": 96}),
    ("gmlp_ti16_224", 64, {**_SMALL, "num_blocks": 6}),
    ("sequencer2d_s", 64, {"embed_dims": (48, 96, 96, 96), "hidden_sizes": (12, 24, 24, 24), "layers": (1, 1, 2, 1)}),
)
_TORCHVISION: tuple[tuple[str, dict[str, Any]], ...] = (
    ("alexnet", {}),
    ("googlenet", {"init_weights": True, "aux_logits": False}),
    ("squeezenet1_1", {}),
    ("shufflenet_v2_x0_5", {}),
    ("mnasnet0_5", {}),
    ("segmentation.fcn_resnet50", {"weights_backbone": None}),
    ("segmentation.deeplabv3_mobilenet_v3_large", {"weights_backbone": None}),
)

IMAGE_FAMILIES = (
    *(
        Family(name, "timm", partial(of_timm, name, options), partial(images, size, 2 if size > 100 else 4))
        for name, size, options in _TIMM
    ),
    *(
        Family(path.rpartition(".")[2], "torchvision", partial(of_torchvision, path, options), partial(images, 64, 4))
        for path, options in _TORCHVISION
    ),
    Family("r3d_18", "torchvision", partial(of_torchvision, "video.r3d_18", {}), video),
)
