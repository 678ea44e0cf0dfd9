"""Families of transformers, from small configurations: 4 layers of width 64, 256 tokens."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import nn

from .families import Family, load_torchvision

_TOKENS = 256
_SIZES = {"hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4, "vocab_size": _TOKENS}
_WIDE = {**_SIZES, "intermediate_size": 128}
_ENDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
_PICTURES = {"image_size": 32, "patch_size": 8}


def of_transformers(model: str, config: str, options: dict[str, Any]) -> nn.Module:
    """A model of transformers from a configuration, with its own random weights."""
    load_torchvision()
    import transformers

    return getattr(transformers, model)(getattr(transformers, config)(**options))


def tokens(length: int = 16) -> dict[str, torch.Tensor]:
    """Random tokens."""
    return {"input_ids": torch.randint(3, _TOKENS, (4, length))}


def two_texts() -> dict[str, torch.Tensor]:
    """A text, and the text that a decoder has written."""
    return {**tokens(), "decoder_input_ids": torch.randint(3, _TOKENS, (4, 8))}


def pictures() -> dict[str, torch.Tensor]:
    """Gaussian images."""
    return {"pixel_values": torch.randn(4, 3, 32, 32)}


def spectrum() -> dict[str, torch.Tensor]:
    """A Gaussian spectrogram, and the text that a decoder has written."""
    return {"input_features": torch.randn(4, 80, 64), "decoder_input_ids": torch.randint(3, _TOKENS, (4, 8))}


_T5 = {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 3, "num_heads": 4, "vocab_size": _TOKENS}
_BART = {
    **{"d_model": 64, "encoder_layers": 3, "decoder_layers": 3, "encoder_attention_heads": 4, "vocab_size": _TOKENS},
    **{"decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, **_ENDS},
}
_TOWER = {"hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 128}
_HEADS = {"num_key_value_heads": 2, **_ENDS}
_PERCEIVER = {"d_model": 64, "d_latents": 64, "num_latents": 8, "num_self_attends_per_block": 3, "vocab_size": _TOKENS}
_STATES = {**_ENDS, "hidden_size": 64, "num_hidden_layers": 4, "vocab_size": _TOKENS}
# name, model, configuration, options
_TEXT: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("GPT-2", "GPT2LMHeadModel", "GPT2Config", {"n_layer": 4, "n_embd": 64, "n_head": 4, "vocab_size": 256, **_ENDS}),
    ("GPT-NeoX", "GPTNeoXForCausalLM", "GPTNeoXConfig", {**_WIDE, **_ENDS}),
    ("Llama", "LlamaForCausalLM", "LlamaConfig", {**_WIDE, **_HEADS}),
    ("Mistral", "MistralForCausalLM", "MistralConfig", {**_WIDE, **_HEADS}),
    ("Mixtral", "MixtralForCausalLM", "MixtralConfig", {**_WIDE, **_HEADS, "num_local_experts": 4}),
    ("Phi", "PhiForCausalLM", "PhiConfig", {**_WIDE, **_ENDS}),
    ("Phi-3", "Phi3ForCausalLM", "Phi3Config", {**_WIDE, **_HEADS}),
    ("Qwen2", "Qwen2ForCausalLM", "Qwen2Config", {**_WIDE, **_HEADS}),
    ("Qwen3", "Qwen3ForCausalLM", "Qwen3Config", {**_WIDE, **_HEADS, "head_dim": 16}),
    ("Gemma", "GemmaForCausalLM", "GemmaConfig", {**_WIDE, **_HEADS, "head_dim": 16}),
    ("Gemma 2", "Gemma2ForCausalLM", "Gemma2Config", {**_WIDE, **_HEADS, "head_dim": 16}),
    ("OLMo 2", "Olmo2ForCausalLM", "Olmo2Config", {**_WIDE, **_HEADS}),
    ("Cohere", "CohereForCausalLM", "CohereConfig", {**_WIDE, **_HEADS}),
    ("OPT", "OPTForCausalLM", "OPTConfig", {**_SIZES, **_ENDS, "ffn_dim": 128, "word_embed_proj_dim": 64}),
    ("BLOOM", "BloomForCausalLM", "BloomConfig", {"hidden_size": 64, "n_layer": 4, "n_head": 4, "vocab_size": 256}),
    ("Falcon", "FalconForCausalLM", "FalconConfig", {**_SIZES, **_ENDS}),
    ("MPT", "MptForCausalLM", "MptConfig", {"d_model": 64, "n_layers": 4, "n_heads": 4, "vocab_size": _TOKENS}),
    ("Mamba", "MambaForCausalLM", "MambaConfig", _STATES),
    ("Mamba-2", "Mamba2ForCausalLM", "Mamba2Config", {**_STATES, "num_heads": 8, "head_dim": 16, "n_groups": 1}),
    ("RWKV", "RwkvForCausalLM", "RwkvConfig", {**_STATES, "use_cache": False}),
    ("BERT", "BertForMaskedLM", "BertConfig", _WIDE),
    ("RoBERTa", "RobertaForMaskedLM", "RobertaConfig", _WIDE),
    ("ALBERT", "AlbertForMaskedLM", "AlbertConfig", {**_WIDE, "embedding_size": 32}),
    ("ELECTRA", "ElectraForPreTraining", "ElectraConfig", {**_WIDE, "embedding_size": 64}),
    (
        "DistilBERT",
        "DistilBertForMaskedLM",
        "DistilBertConfig",
        {"dim": 64, "n_layers": 4, "n_heads": 4, "vocab_size": 256},
    ),
    ("DeBERTa", "DebertaV2ForMaskedLM", "DebertaV2Config", {**_WIDE, "relative_attention": True}),
    ("ModernBERT", "ModernBertForMaskedLM", "ModernBertConfig", {**_WIDE, **_ENDS}),
    ("FNet", "FNetModel", "FNetConfig", {**_WIDE}),
    ("Perceiver", "PerceiverForMaskedLM", "PerceiverConfig", {**_PERCEIVER, "max_position_embeddings": 16}),
)
_OTHER = (
    ("T5", "T5ForConditionalGeneration", "T5Config", _T5, two_texts),
    ("BART", "BartForConditionalGeneration", "BartConfig", _BART, two_texts),
    ("Whisper", "WhisperForConditionalGeneration", "WhisperConfig", {**_BART, "max_source_positions": 32}, spectrum),
    ("ViT-MAE", "ViTMAEForPreTraining", "ViTMAEConfig", {**_TOWER, **_PICTURES, "decoder_hidden_size": 64}, pictures),
    ("SegFormer", "SegformerForSemanticSegmentation", "SegformerConfig", {"hidden_sizes": [16, 32, 64, 96]}, pictures),
    ("DINOv2", "Dinov2ForImageClassification", "Dinov2Config", {**_TOWER, **_PICTURES}, pictures),
)


def clip() -> nn.Module:
    """Text and images."""
    text, vision = {**_TOWER, "vocab_size": _TOKENS, **_ENDS}, {**_TOWER, **_PICTURES}
    return of_transformers("CLIPModel", "CLIPConfig", {"text_config": text, "vision_config": vision})


def wav2vec() -> nn.Module:
    """Sound, as convolutions and attention."""
    shapes = {
        "conv_dim": (32, 32, 32),
        "conv_kernel": (10, 3, 3),
        "conv_stride": (5, 2, 2),
        "num_feat_extract_layers": 3,
    }
    positions = {"num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4, "vocab_size": 32}
    return of_transformers("Wav2Vec2ForCTC", "Wav2Vec2Config", {**_TOWER, **shapes, **positions})


LANGUAGE_FAMILIES = (
    *(
        Family(name, "transformers", partial(of_transformers, model, config, options), tokens)
        for name, model, config, options in _TEXT
    ),
    *(
        Family(name, "transformers", partial(of_transformers, model, config, options), inputs)
        for name, model, config, options, inputs in _OTHER
    ),
    Family("CLIP", "transformers", clip, lambda: {**tokens(), **pictures()}),
    Family("Wav2Vec2", "transformers", wav2vec, lambda: {"input_values": torch.randn(4, 1600)}),
)
