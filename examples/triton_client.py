"""Photographs to tensors by a Triton server that runs what gloam wrote.

    gloam export-triton models --size 512
    tritonserver --model-repository models --model-control-mode=explicit \\
        --load-model=gloam_ensemble
    python examples/triton_client.py PHOTO... [--url 127.0.0.1:8000] [--model gloam_ensemble]

Without a backend of DALI in the server, gloam_preprocess is not loaded; the ensemble begins with
gloam_preprocess_python. Needs tritonclient[http].
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

try:
    import tritonclient.http as triton
except ImportError as error:
    raise SystemExit(f"{error}: pip install 'tritonclient[http]'") from error


def filled(parts: Sequence[bytes]) -> npt.NDArray[np.uint8]:
    """Put bytes into one array (N, longest), with zeros behind: decoders stop before them."""
    made = np.zeros((len(parts), max(map(len, parts))), np.uint8)
    for row, part in zip(made, parts, strict=True):
        row[: len(part)] = np.frombuffer(part, np.uint8)
    return made


def ask(
    url: str, model: str, images: Sequence[bytes], keys: Sequence[str] = ()
) -> dict[str, npt.NDArray[np.generic]]:
    """Return the outputs of a model by their names, each (N, ...).

    `keys` are for gloam_darken: a photograph's key and the seed decide its low.
    """
    client = triton.InferenceServerClient(url)
    outputs = [output["name"] for output in client.get_model_metadata(model)["outputs"]]
    batches = {"IMAGE": filled(images)}
    if keys:
        batches["KEY"] = filled([key.encode() for key in keys])
    inputs = []
    for name, batch in batches.items():
        inputs.append(triton.InferInput(name, batch.shape, "UINT8"))
        inputs[-1].set_data_from_numpy(batch)
    answer = client.infer(model, inputs)
    client.close()
    return {name: answer.as_numpy(name) for name in outputs}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("photographs", nargs="+", type=Path)
    parser.add_argument("--url", default="127.0.0.1:8000")
    parser.add_argument("--model", default="gloam_ensemble")
    args = parser.parse_args()
    images = [path.read_bytes() for path in args.photographs]
    for name, tensor in ask(args.url, args.model, images).items():
        levels = tensor.astype(np.float64)
        print(f"{name}: {tensor.shape} {tensor.dtype}, mean {levels.mean():.4f}")


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        raise SystemExit(f"triton_client.py: {error}") from error
