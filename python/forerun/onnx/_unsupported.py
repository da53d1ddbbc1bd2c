"""Operators of ONNX that are not read, with the reason."""

from __future__ import annotations

REASONS = {
    op: reason
    for reason, ops in {
        "the shape of its result depends on values": "NonMaxSuppression NonZero Unique",
        "there are no lists of arrays and no missing arrays": (
            "ConcatFromSequence Optional OptionalGetElement OptionalHasElement SequenceAt SequenceConstruct "
            "SequenceEmpty SequenceErase SequenceInsert SequenceLength SequenceMap SplitToSequence"
        ),
        "arrays hold no text": "RegexFullMatch StringConcat StringNormalizer StringSplit TfIdfVectorizer",
        "there are no quantised arrays": (
            "ConvInteger DequantizeLinear DynamicQuantizeLinear MatMulInteger QLinearConv QLinearMatMul QuantizeLinear"
        ),
        "losses are no part of a network": "NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss",
        "signals are not processed": "BlackmanWindow DFT HammingWindow HannWindow MelWeightMatrix STFT",
        "regions and grids of images are not read yet": (
            "AffineGrid CenterCropPad Col2Im DeformConv GridSample ImageDecoder MaxRoiPool MaxUnpool RoiAlign"
        ),
        "files of version 22 and before have its parts instead": (
            "Attention BitCast CausalConvWithState LinearAttention RotaryEmbedding SwiGLU TensorScatter"
        ),
        "random integers are not drawn": "Multinomial",
        "before version 9 it has a batch axis": "Scan-8",
    }.items()
    for op in ops.split()
}


def named(ops: set[str]) -> str:
    """Return the message for ops that are not read."""
    known = (f"{op} ({REASONS[op]})" if op in REASONS else op for op in sorted(ops))
    return f"the ops {', '.join(known)} are not supported"
