"""Synthetic data of the examples. Every function takes ``np``: ``forerun.np``, or NumPy itself."""

from __future__ import annotations

import math
import random
from typing import Any

#: Digits of 5 by 7 pixels: one byte for each row, in hexadecimal.
GLYPHS = [
    "0e11131519110e",
    "040c040404040e",
    "0e11010204081f",
    "1f02040201110e",
    "02060a121f0202",
    "1f101e0101110e",
    "0608101e11110e",
    "1f010204080808",
    "0e11110e11110e",
    "0e11110f01020c",
]
#: The tokens of the language model are positions in this string.
CHARACTERS = "abcdefghijklmnopqrstuvwxyz ."


def digits(np: Any, count: int, seed: int, noise: float = 0.7) -> tuple[Any, Any]:
    """Draw images of digits, ``(count, 1, 28, 28)``, at random positions and with noise; return them and the digits."""
    rows = [[[byte >> (4 - bit) & 1 for bit in range(5)] for byte in bytes.fromhex(glyph)] for glyph in GLYPHS]
    glyphs = np.array(rows, dtype="float32").repeat(3, axis=1).repeat(3, axis=2)
    canvas = np.pad(glyphs, ((0, 0), (9, 10), (12, 13)))
    draw = np.random.default_rng(seed)
    labels = draw.integers(0, 10, count)
    top, left = draw.integers(2, 10, count), draw.integers(0, 13, count)
    window = np.arange(28)
    images = canvas[
        labels.reshape(-1, 1, 1), (top.reshape(-1, 1) + window)[:, :, None], (left.reshape(-1, 1) + window)[:, None]
    ]
    images = images + noise * draw.normal(size=images.shape)
    return images.reshape(count, 1, 28, 28).astype("float32"), labels


def gratings(np: Any, count: int, seed: int, extent: int = 64, classes: int = 10) -> tuple[Any, Any]:
    """Draw colour images of waves, ``(count, 3, extent, extent)``; the class is their direction."""
    draw = np.random.default_rng(seed)
    labels = draw.integers(0, classes, count)
    angle = (labels * (math.pi / classes)).reshape(-1, 1, 1, 1)
    phase = draw.uniform(0, 2 * math.pi, (count, 1, 1, 1))
    colour = draw.uniform(0.3, 1, (count, 3, 1, 1))
    places = np.arange(extent) * (16 * math.pi / extent)
    wave = np.sin(np.cos(angle) * places + np.sin(angle) * places.reshape(-1, 1) + phase)
    images = colour * wave + 0.5 * draw.normal(size=(count, 3, extent, extent))
    return images.astype("float32"), labels


def sentences(length: int, seed: int) -> list[int]:
    """Return the tokens of sentences such as ``the small cat sees a dog.``."""
    draw, text = random.Random(seed), ""
    while len(text) < length:
        for end in (draw.choice((" sees ", " follows ", " likes ", " hears ")), ". "):
            noun = draw.choice(("cat", "dog", "bird", "horse", "fish"))
            text += draw.choice(("the ", "a ")) + draw.choice(("", "small ", "red ", "old ")) + noun + end
    return [CHARACTERS.index(character) for character in text[:length]]


def windows(np: Any, text: list[int], steps: int, batch: int, seed: int) -> tuple[Any, Any]:
    """Draw parts of a text, ``(steps, batch)``, and the character after each of theirs."""
    starts = np.random.default_rng(seed).integers(0, len(text) - steps, batch)
    places = np.arange(steps).reshape(-1, 1) + starts
    tokens = np.array(text)
    return tokens[places], tokens[places + 1]


def copies(np: Any, batch: int, length: int, tokens: int, seed: int) -> tuple[Any, Any]:
    """Draw sequences to copy: the tokens, a separator, and all tokens but the last again; and the tokens."""
    drawn = np.random.default_rng(seed).integers(0, tokens, (batch, length))
    separator = np.full((batch, 1), tokens, dtype=drawn.dtype)
    return np.concatenate([drawn, separator, drawn[:, :-1]], axis=1), drawn
