"""``mxnet.amp``: mixed precision. Products run in float16 or bfloat16, sensitive functions in float32, losses are scaled.

Examples
--------
>>> from forerun import mxnet as mx
>>> from forerun.mxnet import amp, autograd, gluon, np
>>> amp.init("float16")
>>> net = gluon.nn.Dense(1, in_units=2)
>>> net.initialize()
>>> trainer = gluon.Trainer(net.collect_params(), "sgd")
>>> amp.init_trainer(trainer)
>>> with autograd.record():
...     loss = gluon.loss.L2Loss()(net(np.ones((4, 2))), np.ones((4,)))
...     with amp.scale_loss(loss, trainer) as scaled:
...         autograd.backward(scaled)
>>> trainer.step(4)
>>> net(np.ones((4, 2))).dtype
dtype('float16')
>>> amp.reset()
"""

from forerun.mxnet.amp.amp import (
    convert_hybrid_block,
    init,
    init_trainer,
    list_fp32_ops,
    list_lp16_ops,
    reset,
    scale_loss,
    unscale,
)
from forerun.mxnet.amp.loss_scaler import LossScaler

__all__ = [
    "LossScaler",
    "convert_hybrid_block",
    "init",
    "init_trainer",
    "list_fp32_ops",
    "list_lp16_ops",
    "reset",
    "scale_loss",
    "unscale",
]
