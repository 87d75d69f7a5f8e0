"""The DALI pipeline of a server: it transforms an image as `PairLoader` does.

It is `decoded`, a resize and `normalised` of `dali.operators`, written out for servers.
"""

from __future__ import annotations

from typing import Any

from nvidia import dali

from ..options import Options

DALI = dali.__version__
INPUT = "IMAGE"
_SERIALISED = "@autoserialize\n"


def serialize_pipeline(options: Options) -> bytes:
    """Return the pipeline of `source` as DALI's backend of Triton reads it.

    It names no GPU, so that it is made without one: whoever reads it says which it runs on.
    """
    text = source(options).replace(_SERIALISED, "")
    names: dict[str, Any] = {}
    exec(compile(text, "dali.py", "exec"), names)
    made: bytes = names["preprocess"](device_id=None).serialize()
    return made


def source(options: Options) -> str:
    """Return the pipeline as a Python file, which DALI's backend reads too."""
    mean, std = options.mean_and_std
    kind = {"float32": "FLOAT", "float16": "FLOAT16", "uint8": "UINT8"}[options.dtype]
    gpu = options.device == "gpu"
    more = (
        f",\n        hw_decoder_load={options.hw_decoder_load},\n        jpeg_fancy_upsampling=True"
        if gpu
        else ""
    )
    return f'''"""What gloam's loaders do to an image.

model.dali beside it is this, serialised by DALI {DALI}; where a server's
DALI is older than that, delete model.dali: its backend then reads this file.
"""

from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.plugin.triton import autoserialize


@autoserialize
@pipeline_def(batch_size={options.batch_size}, num_threads={options.workers}, \
device_id={0 if gpu else None})
def preprocess():
    encoded = fn.external_source(name="{INPUT}", device="cpu", dtype=types.UINT8, ndim=1)
    image = fn.decoders.image(
        encoded,
        device="{"mixed" if gpu else "cpu"}",
        output_type=types.RGB{more},
    )
    image = fn.resize(image, size={list(options.size or ())}, antialias=True)
    return fn.crop_mirror_normalize(
        image, dtype=types.{kind}, output_layout="{options.layout}", mean=[{mean}], std=[{std}]
    )
'''
