"""Train a small enhancer by Keras and TensorFlow: batches come as NumPy arrays, as `tf.data` takes.

gloam build SET --source folder=PHOTOS --low-codec none
python examples/keras_enhancer.py SET --steps 200                # needs tensorflow

Decoding and darkening are DALI's and gloam's; TensorFlow's own plugin of DALI is not needed. On a
GPU, `framework="cupy"` leaves batches there, and `tf.experimental.dlpack.from_dlpack` takes them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

try:
    import tensorflow as tf
except ImportError as error:
    raise SystemExit(f"{error}: pip install tensorflow") from error

from gloam.errors import GloamError
from gloam.loaders import PairLoader


def batches_of(loader: PairLoader) -> tf.data.Dataset:
    """An epoch after the other, for ever: pairs of float32 (N, H, W, 3) in [0, 1]."""
    size = loader.options.size
    assert size is not None

    def epochs() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        while True:
            yield from loader

    images = tf.TensorSpec((None, *size, 3), tf.float32)
    return tf.data.Dataset.from_generator(epochs, output_signature=(images, images)).prefetch(2)


def enhancer(width: int) -> tf.keras.Model:
    """A few convolutions that say what is to be added to the low's square root."""
    low = tf.keras.Input((None, None, 3))
    x = tf.keras.ops.sqrt(low)
    start = x
    for dilation in (1, 2, 4):
        layer = tf.keras.layers.Conv2D(
            width, 3, padding="same", dilation_rate=dilation, activation="relu"
        )
        x = layer(x)
    x = tf.keras.layers.Conv2D(3, 3, padding="same")(x)
    return tf.keras.Model(low, start + x)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("set")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--size", type=int, default=96)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    tf.keras.utils.set_random_seed(args.seed)
    loader = PairLoader(
        args.set,
        batch_size=args.batch_size,
        size=args.size,
        crop="random",
        live=True,
        seed=args.seed,
        device=args.device,
        framework="numpy",
        layout="HWC",
        dtype="float32",
        value_range=(0, 1),
    )
    model = enhancer(args.width)
    model.compile(optimizer=tf.keras.optimizers.Adam(1e-3), loss="mae")
    recent = []
    with loader:
        for step, (low, normal) in enumerate(batches_of(loader).take(args.steps), 1):
            recent.append(float(model.train_on_batch(low, normal)))
            if step % max(args.steps // 10, 1) == 0:
                print(f"step {step}: loss {np.mean(recent):.4f}", flush=True)
                recent.clear()


if __name__ == "__main__":
    try:
        main()
    except (GloamError, OSError) as error:
        raise SystemExit(f"keras_enhancer.py: {error}") from error
