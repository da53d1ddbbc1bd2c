"""Write small data sets in the file formats that the programs of *Dive into Deep Learning* download.

Usage::

    python tests/conformance/book_data.py FOLDER

The files carry the names of the originals, contain generated data, and are small: `FOLDER/files` holds what the book's
``d2l.download`` requests, `FOLDER/home` what `gluon.data.vision` reads below ``~/.mxnet``, and `FOLDER/small` the same
with fewer images and classes. Images and texts depend on their labels, so networks can learn from them.
"""

from __future__ import annotations

import gzip
import io
import json
import pathlib
import struct
import sys
import tarfile
import zipfile
from collections.abc import Iterable

import numpy as np
from PIL import Image

NUMBERS = np.random.default_rng(0)
# Words that programs of the book look up.
NAMED = """
the join chip baby beautiful man woman son daughter beijing china tokyo japan bad worst big biggest do did go went
he is she great not what so a this movie good i it time traveller by and of was very
""".split()  # noqa: SIM905  (a table of words)
SYLLABLES = [c + v for c in "bcdfghklmnprstvw" for v in ("a", "e", "i", "o", "u", "ar", "en", "ing", "ock")]


def words(count: int) -> list[str]:
    """Return distinct words: the named ones and made-up ones."""
    made = dict.fromkeys(NAMED)
    while len(made) < count:
        made["".join(NUMBERS.choice(SYLLABLES, size=NUMBERS.integers(2, 4)))] = None
    return list(made)


WORDS = words(600)
# A word is followed by one of a few others, so a model can predict the next.
FOLLOWERS = NUMBERS.integers(0, len(WORDS), size=(len(WORDS), 6)) ** 2 // len(WORDS)


def sentence(length: int) -> list[str]:
    """Return a chain of words."""
    at = int(NUMBERS.integers(0, len(NAMED)))
    chain = [at]
    while len(chain) < length:
        at = (
            int(FOLLOWERS[at, NUMBERS.integers(0, 6)])
            if NUMBERS.random() < 0.9
            else int(NUMBERS.integers(0, len(WORDS)))
        )
        chain.append(at)
    return [WORDS[at] for at in chain]


def textures(labels: np.ndarray, height: int, width: int, channels: int = 1) -> np.ndarray:
    """Return images of waves whose direction and period depend on the label, with noise."""
    rows, columns = np.mgrid[:height, :width] / 28
    labels = labels.reshape(-1, 1, 1, 1).astype(np.float32)
    phases = NUMBERS.uniform(0, 1, size=(len(labels), 1, 1, channels))
    waves = np.sin(rows[..., None] * (2 + labels) + columns[..., None] * (9 - labels) + phases) * 90 + 128
    noise = NUMBERS.normal(0, 25, size=(len(labels), height, width, channels))
    return np.clip(waves + noise, 0, 255).astype(np.uint8)


def encoded(image: np.ndarray, kind: str) -> bytes:
    """Return the bytes of an image file."""
    file = io.BytesIO()
    Image.fromarray(image.squeeze()).save(file, kind)
    return file.getvalue()


def zipped(path: pathlib.Path, members: dict[str, bytes | str]) -> None:
    """Write a zip file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def tarred(path: pathlib.Path, members: dict[str, bytes], mode: str = "w") -> None:
    """Write a tar file."""
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


def digits(folder: pathlib.Path, train: int, test: int, classes: int = 10) -> None:
    """Write MNIST's four files, with images of the first classes."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, count in (("train", train), ("t10k", test)):
        labels = np.arange(count) % classes
        images = textures(labels, 28, 28)
        header = struct.pack(">IIII", 0x803, count, 28, 28)
        (folder / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(header + images.tobytes()))
        header = struct.pack(">II", 0x801, count)
        content = gzip.compress(header + labels.astype(np.uint8).tobytes())
        (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(content)


def cifar(folder: pathlib.Path, each: int) -> None:
    """Write CIFAR-10's archive, and its six files unpacked."""
    members = {}
    for name in [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]:
        labels = np.arange(each) % 10
        images = textures(labels, 32, 32, 3).transpose(0, 3, 1, 2).reshape(each, -1)
        members[name] = np.concatenate([labels[:, None].astype(np.uint8), images], axis=1).tobytes()
    (folder / "cifar-10-batches-bin").mkdir(parents=True, exist_ok=True)
    for name, content in members.items():
        (folder / name).write_bytes(content)
        (folder / "cifar-10-batches-bin" / name).write_bytes(content)
    archived = {f"cifar-10-batches-bin/{name}": content for name, content in members.items()}
    tarred(folder / "cifar-10-binary.tar.gz", archived, "w:gz")


def home(folder: pathlib.Path, train: int, test: int, classes: int = 10) -> None:
    """Write the data sets that `gluon.data.vision` reads from the user's folder."""
    for name in ("mnist", "fashion-mnist"):
        digits(folder / ".mxnet" / "datasets" / name, train, test, classes)
    cifar(folder / ".mxnet" / "datasets" / "cifar10", train // 5 + 1)


def texts(files: pathlib.Path) -> None:
    """Write the book, the corpora and the sentence pairs."""
    lines, size = [], 0
    while size < 11_400:
        lines.append(" ".join(sentence(int(NUMBERS.integers(6, 14)))).capitalize() + ".")
        size += len(lines[-1])
    (files / "timemachine.txt").write_text("The Time Machine, by H. G. Wells [1898]\n\n" + "\n".join(lines) + "\n")
    corpus = "\n".join(" ".join(sentence(int(NUMBERS.integers(6, 20)))) for _ in range(3000))
    zipped(files / "ptb.zip", {f"ptb/ptb.{part}.txt": corpus for part in ("train", "valid", "test")})
    paragraphs = []
    for title in range(12):
        paragraphs += [" \n", f" = Title {title} = \n", " \n"]
        for _ in range(8):
            chains = [" ".join(sentence(int(NUMBERS.integers(6, 16)))) for _ in range(3)]
            paragraphs.append(" " + " . ".join(chains) + " . \n")
    tokens = "".join(paragraphs)
    zipped(
        files / "wikitext-2-v1.zip", {f"wikitext-2/wiki.{part}.tokens": tokens for part in ("train", "valid", "test")}
    )
    pairs = [
        "Go.\tVa !",
        "Hi.\tSalut !",
        "I lost.\tJ'ai perdu.",
        "He's calm.\tIl est calme.",
        "I'm home.\tJe suis chez moi.",
    ]
    french = dict(zip(WORDS, reversed(WORDS), strict=True))
    while len(pairs) < 800:
        chain = [WORDS[i] for i in NUMBERS.integers(0, 60, size=NUMBERS.integers(2, 5))]
        pairs.append(f"{' '.join(chain).capitalize()}.\t{' '.join(french[word] for word in chain).capitalize()} !")
    zipped(files / "fra-eng.zip", {"fra-eng/fra.txt": "\n".join(pairs) + "\n"})


def reviews(files: pathlib.Path, train: int, test: int) -> None:
    """Write the film reviews and the inferences."""
    members = {}
    for part, count in (("train", train), ("test", test)):
        for mood, colour in (("pos", ["great", "good", "beautiful"]), ("neg", ["bad", "worst", "not"])):
            for i in range(count // 2):
                chain = sentence(int(NUMBERS.integers(40, 200)))
                at = NUMBERS.random(len(chain)) < 0.2
                chain = [str(NUMBERS.choice(colour)) if here else word for word, here in zip(chain, at, strict=True)]
                members[f"aclImdb/{part}/{mood}/{i}_7.txt"] = " ".join(chain).encode()
    tarred(files / "aclImdb_v1.tar.gz", members, "w:gz")
    header = "gold_label\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\n"
    members = {}
    for part, count in (("train", 2200), ("test", test), ("dev", test)):
        rows = []
        for i in range(count):
            premise = sentence(int(NUMBERS.integers(6, 14)))
            kind = ("entailment", "contradiction", "neutral", "-")[i % 3 if i % 50 else 3]
            other = {"entailment": premise[:4], "contradiction": ["not", *premise[:3]]}.get(kind, sentence(5))
            rows.append(f"{kind}\t( {' '.join(premise)} . )\t( {' '.join(other)} . )\t(ROOT)\n")
        members[f"snli_1.0/snli_1.0_{part}.txt"] = header + "".join(rows)
    zipped(files / "snli_1.0.zip", members)  # type: ignore[arg-type]


def vectors(files: pathlib.Path) -> None:
    """Write the word vectors, of which the book looks up the 3367th."""
    for name, size in (("glove.6B.50d", 50), ("glove.6B.100d", 100)):
        table = dict.fromkeys(WORDS)
        while len(table) < 3800:
            table["".join(NUMBERS.choice(SYLLABLES, size=4))] = None
        lines = [f"{word} {' '.join(f'{value:.5f}' for value in NUMBERS.normal(0, 0.4, size=size))}" for word in table]
        zipped(files / f"{name}.zip", {f"{name}/vec.txt": "\n".join(lines) + "\n"})


def folders_of_images(files: pathlib.Path) -> None:
    """Write the data sets with one image file per example."""
    members: dict[str, bytes | str] = {}
    for part, count in (("train", 260), ("test", 16)):
        for label, kind in enumerate(("hotdog", "not-hotdog")):
            for i, image in enumerate(textures(np.full(count, 4 * label), 120, 150, 3)):
                members[f"hotdog/{part}/{kind}/{i}.png"] = encoded(image, "PNG")
    zipped(files / "hotdog.zip", members)
    members = {
        f"pokemon/{i % 4}/{i}.png": encoded(image, "PNG")
        for i, image in enumerate(textures(np.arange(64) % 4, 64, 64, 3))
    }
    zipped(files / "pokemon.zip", members)

    kinds = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
    members = {
        "kaggle_cifar10_tiny/trainLabels.csv": "id,label\n" + "".join(f"{i + 1},{kinds[i % 10]}\n" for i in range(400))
    }
    for i, image in enumerate(textures(np.arange(400) % 10, 32, 32, 3)):
        members[f"kaggle_cifar10_tiny/train/{i + 1}.png"] = encoded(image, "PNG")
    for i, image in enumerate(textures(np.arange(5), 32, 32, 3)):
        members[f"kaggle_cifar10_tiny/test/{i + 1}.png"] = encoded(image, "PNG")
    zipped(files / "kaggle_cifar10_tiny.zip", members)

    breeds = [f"breed_{i:03}" for i in range(32)]
    # The book takes one image of each breed for validation. It needs a batch of these, and five to train with.
    owners = [i % 32 for i in range(192)]
    members = {
        "kaggle_dog_tiny/labels.csv": "id,breed\n"
        + "".join(f"dog{i},{breeds[owner]}\n" for i, owner in enumerate(owners))
    }
    for i, image in enumerate(textures(np.array(owners) % 10, 180, 200, 3)):
        members[f"kaggle_dog_tiny/train/dog{i}.jpg"] = encoded(image, "JPEG")
    for i, image in enumerate(textures(np.arange(6), 180, 200, 3)):
        members[f"kaggle_dog_tiny/test/test{i}.jpg"] = encoded(image, "JPEG")
    zipped(files / "kaggle_dog_tiny.zip", members)


def bananas(files: pathlib.Path, train: int, test: int) -> None:
    """Write the detection data set: a yellow box on a grey texture, and where it is."""
    members: dict[str, bytes | str] = {}
    for part, count in (("bananas_train", train), ("bananas_val", test)):
        rows = ["img_name,label,xmin,ymin,xmax,ymax"]
        for i, image in enumerate(textures(NUMBERS.integers(0, 10, size=count), 256, 256, 3)):
            width, height = NUMBERS.integers(40, 90, size=2)
            left, top = NUMBERS.integers(0, 160, size=2)
            image[top : top + height, left : left + width] = (250, 220, 30)
            rows.append(f"{i}.png,0,{left},{top},{left + width},{top + height}")
            members[f"banana-detection/{part}/images/{i}.png"] = encoded(image, "PNG")
        members[f"banana-detection/{part}/label.csv"] = "\n".join(rows) + "\n"
    zipped(files / "banana-detection.zip", members)


def segmentation(files: pathlib.Path, train: int, test: int) -> None:
    """Write Pascal VOC's images and their masks, in the colours of its classes."""
    colours = [(128, 0, 0), (0, 128, 0), (128, 128, 0), (0, 0, 128)]
    members: dict[str, bytes] = {}
    for part, count in (("train", train), ("val", test)):
        names = [f"2007_{part}{i:03}" for i in range(count)]
        members[f"VOCdevkit/VOC2012/ImageSets/Segmentation/{part}.txt"] = ("\n".join(names) + "\n").encode()
        for i, name in enumerate(names):
            image = textures(np.zeros(1), 330, 490, 3)[0]
            mask = np.zeros_like(image)
            left, top = NUMBERS.integers(0, 120, size=2)
            box = np.s_[top : top + 200, left : left + 300]
            mask[box] = colours[i % 4]
            image[box] = image[box] // 2 + np.array(colours[i % 4], dtype=np.uint8)
            members[f"VOCdevkit/VOC2012/JPEGImages/{name}.jpg"] = encoded(image, "JPEG")
            members[f"VOCdevkit/VOC2012/SegmentationClass/{name}.png"] = encoded(mask, "PNG")
    tarred(files / "VOCtrainval_11-May-2012.tar", members)


def tables(files: pathlib.Path) -> None:
    """Write the tables: ratings, clicks, houses, noise of wings."""
    users, items = 300, 300
    tastes, kinds = NUMBERS.normal(size=(users, 4)), NUMBERS.normal(size=(items, 4))
    pairs = [(u, i) for u in range(users) for i in range(items) if u == i % users or NUMBERS.random() < 0.1]
    rows = []
    for count, at in enumerate(NUMBERS.permutation(len(pairs))):
        user, item = pairs[at]
        rating = int(np.clip(np.round(3 + tastes[user] @ kinds[item]), 1, 5))
        rows.append(f"{user + 1}\t{item + 1}\t{rating}\t{881_250_949 + count}\n")
    zipped(files / "ml-100k.zip", {"ml-100k/u.data": "".join(rows)})

    members: dict[str, bytes | str] = {}
    for part, count in (("train", 10_240), ("test", 2048)):
        features = NUMBERS.integers(0, 12, size=(count, 34))
        clicks = (features[:, 0] + features[:, 1] > 11).astype(int)
        rows = ["\t".join([str(y), *(f"{x:08x}" for x in row)]) + "\n" for y, row in zip(clicks, features, strict=True)]
        members[f"ctr/{part}.csv"] = "".join(rows)
    zipped(files / "ctr.zip", members)

    numeric = ["MSSubClass", "LotFrontage", "LotArea", "OverallQual", "OverallCond", "YearBuilt", "GrLivArea", "YrSold"]
    named = {
        "MSZoning": ["RL", "RM", "C (all)"],
        "Street": ["Pave", "Grvl"],
        "SaleType": ["WD", "New"],
        "SaleCondition": ["Normal", "Abnorml"],
    }
    for part, count, first in (("train", 400, 1), ("test", 400, 1461)):
        values = NUMBERS.integers(1, 100, size=(count, len(numeric)))
        prices = 100_000 + values @ np.arange(1, len(numeric) + 1) * 60
        lines = [",".join(["Id", *numeric, *named] + (["SalePrice"] if part == "train" else []))]
        for i in range(count):
            row = [str(first + i), *map(str, values[i]), *(str(NUMBERS.choice(kinds)) for kinds in named.values())]
            row[2] = "" if i % 9 == 0 else row[2]
            lines.append(",".join(row + ([str(prices[i])] if part == "train" else [])))
        (files / f"kaggle_house_pred_{part}.csv").write_text("\n".join(lines) + "\n")

    wing = NUMBERS.normal(size=(1503, 5)) * [3000, 6, 0.1, 15, 0.01] + [2900, 7, 0.14, 51, 0.011]
    noise = 130 - wing[:, 0] / 1000 - wing[:, 1] / 2 + NUMBERS.normal(0, 2, size=1503)
    lines = ["\t".join(f"{value:.6g}" for value in row) for row in np.column_stack([wing, noise])]
    (files / "airfoil_self_noise.dat").write_text("\n".join(lines) + "\n")


def vocabulary(files: pathlib.Path) -> Iterable[str]:
    """Write and return the vocabulary of the pretrained encoders; their weights follow from the book's own classes."""
    tokens = ["<unk>", "<pad>", "<mask>", "<cls>", "<sep>", *WORDS]
    (files / "bert-vocab.json").write_text(json.dumps(tokens))
    return tokens


def main(folder: pathlib.Path) -> None:
    """Write all data sets."""
    files = folder / "files"
    files.mkdir(parents=True, exist_ok=True)
    home(folder / "home", 1024, 256)
    digits(folder / "full" / ".mxnet" / "datasets" / "fashion-mnist", 1000, 10_000)
    # Ten steps are enough to learn which classes there are, not how the images of ten classes differ.
    home(folder / "small", 64, 32, classes=2)
    texts(files)
    reviews(files, 320, 64)
    vectors(files)
    folders_of_images(files)
    bananas(files, 32, 32)
    segmentation(files, 160, 32)
    tables(files)
    vocabulary(files)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
