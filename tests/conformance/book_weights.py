"""Write files of weights under the names that the book loads: random ones, because it is the loading that is tested.

Usage: ``python book_weights.py FOLDER``, after `book_data.py`; `book.py` starts it. The networks are those of the model
zoo and the encoder of the published package ``d2l``.
"""

from __future__ import annotations

import pathlib
import sys
import tempfile

from book_data import vocabulary, zipped

import forerun.mxnet

NETWORKS = {"resnet18_v2": 224, "resnet34_v2": 224, "vgg19": 224}


def network(path: pathlib.Path, name: str, size: int) -> None:
    """Write the weights of a network of the model zoo."""
    from mxnet import gluon, init, np

    net = gluon.model_zoo.vision.get_model(name)
    net.initialize(init.Xavier(magnitude=2))
    net(np.zeros((1, 3, size, size))).wait_to_read()
    net.save_parameters(str(path))


def encoder(files: pathlib.Path) -> None:
    """Write the archive of the small pretrained BERT."""
    from d2l import mxnet as d2l
    from mxnet import np

    tokens = list(vocabulary(files))
    bert = d2l.BERTModel(len(tokens), 256, 512, 4, 2, 0.1, 512)
    bert.initialize()
    ids = np.zeros((1, 8), dtype="int32")
    bert(ids, ids, np.array([8]), np.zeros((1, 2), dtype="int32"))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "pretrained.params"
        bert.save_parameters(str(path))
        text = (files / "bert-vocab.json").read_text()
        zipped(
            files / "bert.small.zip", {"bert.small/vocab.json": text, "bert.small/pretrained.params": path.read_bytes()}
        )


def main(folder: pathlib.Path) -> None:
    """Write the files that do not exist."""
    forerun.mxnet.install()
    models = folder / "home" / ".mxnet" / "models"
    models.mkdir(parents=True, exist_ok=True)
    for name, size in NETWORKS.items():
        path = models / f"{name}.params"
        if not path.exists():
            network(path, name, size)
    if not (folder / "files" / "bert.small.zip").exists():
        encoder(folder / "files")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
