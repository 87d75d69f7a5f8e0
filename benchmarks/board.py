"""Run published enhancers with their own weights on test sets, and judge them together.

    python benchmarks/board.py OUT --on lol-v1=LOLdataset --on sice=SICE \
        --zero-dce Zero-DCE --zero-dce-plus Zero-DCE_extension --sci SCI --ruas RUAS \
        --pairlie PairLIE --iat Illumination-Adaptive-Transformer [--own unet.pt] [--record board]

Each option is the folder of a method's repository; those that are not given are left out:

    --zero-dce       github.com/Li-Chongyi/Zero-DCE                          CVPR 2020
    --zero-dce-plus  github.com/Li-Chongyi/Zero-DCE_extension                TPAMI 2021
    --sci            github.com/vis-opt-group/SCI                            CVPR 2022
    --ruas           github.com/KarelZhang/RUAS                              CVPR 2021
    --pairlie        github.com/zhenqifu/PairLIE                             CVPR 2023
    --iat            github.com/cuiziteng/Illumination-Adaptive-Transformer  BMVC 2022
    --own            the checkpoint of examples/train.py, of its default width

Of a repository nothing but its weights is read, as data: the networks stand here, as functions of
named arrays. OUT/METHOD/SET gets the outputs, those that are there are kept; sets are given as to
`gloam judge`, whose table is printed. Outputs are cut or rounded to 8 bits as each repository's own
test does. Conventions, and figures: docs/board.md.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import numpy as np
import torch
import torch.nn.functional as F
from recording import options_of, recorded

import gloam
from gloam.loaders.judging.judge import pairs_judged_on
from gloam.loaders.judging.judge_page import render_page
from gloam.manifests.images.decode import decode_as_rgb

Weights = dict[str, torch.Tensor]
Network = Callable[[torch.Tensor], torch.Tensor]
_STRIDE = 12  # of Zero-DCE++: its curves are of a copy so much smaller


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--on", action="append", required=True, metavar="NAME=FOLDER")
    for name in ("zero-dce", "zero-dce-plus", "sci", "ruas", "pairlie", "iat", "own"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--page", type=Path, help="also write the page of gloam judge")
    parser.add_argument("--figures", type=Path, help="also write each picture's figures (.csv)")
    args = parser.parse_args()
    methods = {}
    for name, rounded, network in networks(args):
        print(name, flush=True)
        methods[name] = args.out / name
        for on in args.on:
            of, pairs = on.partition("=")[0], pairs_judged_on(on)[1]
            for low, _ in pairs:
                path = args.out / name / of / f"{Path(low).stem}.png"
                if not path.exists():
                    path.parent.mkdir(parents=True, exist_ok=True)
                    image = decode_as_rgb(Path(low).read_bytes())
                    made = enhanced(network, image, rounded)
                    cv2.imwrite(str(path), made[:, :, ::-1])
    with recorded(args.record):
        if len(args.on) > 1:
            found = gloam.judge(methods, on=args.on)
        else:
            of = args.on[0].partition("=")[0]
            found = gloam.judge({name: path / of for name, path in methods.items()}, on=args.on)
        print(found.markdown())
    for path, text in ((args.page, render_page), (args.figures, type(found).csv)):
        if path is not None:
            path.write_text(text(found))


@torch.no_grad()
def enhanced(network: Network, image: np.ndarray, rounded: bool) -> np.ndarray:
    """Return what a network makes of a low, uint8 (H, W, 3); levels are rounded, or cut."""
    low = torch.from_numpy(image.copy()).permute(2, 0, 1)[None].float() / 255
    levels = network(low).clamp(0, 1)[0].permute(1, 2, 0) * 255 + (0.5 if rounded else 0)
    return levels.clamp(0, 255).numpy().astype(np.uint8)


def networks(args: object) -> Iterator[tuple[str, bool, Network]]:
    """Yield (name, whether outputs are rounded, network) of each method whose folder is given."""
    given = {name: path for name, path in vars(args).items() if isinstance(path, Path)}

    def weights(option: str, file: str) -> Weights:
        path = given[option] / file
        found = torch.load(path, map_location="cpu", weights_only=True)
        return {name.removeprefix("module."): one for name, one in found.items()}

    if "zero_dce" in given:
        yield (
            "Zero-DCE",
            True,
            bind(zero_dce, weights("zero_dce", f"{_CODE}/snapshots/Epoch99.pth")),
        )
    if "zero_dce_plus" in given:
        file = "Zero-DCE++/snapshots_Zero_DCE++/Epoch99.pth"
        yield "Zero-DCE++", True, bind(zero_dce_plus, weights("zero_dce_plus", file))
    if "sci" in given:
        for kind in ("easy", "medium", "difficult"):
            yield f"SCI ({kind})", False, bind(sci, weights("sci", f"weights/{kind}.pt"))
    if "ruas" in given:
        for kind in ("lol", "upe", "dark"):
            yield f"RUAS ({kind})", False, bind(ruas, weights("ruas", f"ckpt/{kind}.pt"), kind)
    if "pairlie" in given:
        for power in (0.14, 0.2):
            found = weights("pairlie", "weights/PairLIE.pth")
            yield f"PairLIE ({power:.2f})".replace("0.", "."), False, bind(pairlie, found, power)
    if "iat" in given:
        yield "IAT", True, bind(iat, weights("iat", "IAT_enhance/best_Epoch_lol_v1.pth"))
    if "own" in given:
        yield "train.py", True, own(given["own"])


_CODE = "Zero-DCE_code"


def bind(function: Callable, found: Weights, *more: object) -> Network:
    return lambda low: function(found, low, *more)


def own(path: Path) -> Network:
    """Return the network of examples/train.py, by a checkpoint of it."""
    place = Path(__file__).parents[1] / "examples/train.py"
    spec = importlib.util.spec_from_file_location("train", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    network = module.UNet()
    saved = torch.load(path, map_location="cpu", weights_only=True)
    network.load_state_dict(saved["model"])
    return network.eval()


def conv(found: Weights, name: str, x: torch.Tensor, **options: int) -> torch.Tensor:
    """Convolve by named weights; by default with as many zeros about as keep the size."""
    weight = found[f"{name}.weight"]
    reach = weight.shape[-1] // 2 * options.get("dilation", 1)
    options = {"padding": reach, **options}
    return F.conv2d(x, weight, found.get(f"{name}.bias"), **options)


def normed(found: Weights, name: str, x: torch.Tensor) -> torch.Tensor:
    """Normalise by the statistics that a batch norm has kept."""
    kept = (found[f"{name}.{one}"] for one in ("running_mean", "running_var", "weight", "bias"))
    return F.batch_norm(x, *kept)


def curves(low: torch.Tensor, rates: list[torch.Tensor]) -> torch.Tensor:
    """Apply Zero-DCE's quadratic curves one after the other."""
    for rate in rates:
        low = low + rate * (low * low - low)
    return low


def crossed(low: torch.Tensor, layer: Callable[[int, torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """Return the rates of Zero-DCE's seven layers, of which later ones see earlier ones."""
    one = layer(1, low).relu()
    two = layer(2, one).relu()
    three = layer(3, two).relu()
    four = layer(4, three).relu()
    five = layer(5, torch.cat([three, four], 1)).relu()
    six = layer(6, torch.cat([two, five], 1)).relu()
    return layer(7, torch.cat([one, six], 1)).tanh()


def zero_dce(found: Weights, low: torch.Tensor) -> torch.Tensor:
    rates = crossed(low, lambda number, x: conv(found, f"e_conv{number}", x))
    return curves(low, list(rates.split(3, 1)))


def zero_dce_plus(found: Weights, low: torch.Tensor) -> torch.Tensor:
    """Mirror the right and lower edges up to a multiple of 12; its test cuts them off there."""

    def layer(number: int, x: torch.Tensor) -> torch.Tensor:
        x = conv(found, f"e_conv{number}.depth_conv", x, groups=x.shape[1])
        return conv(found, f"e_conv{number}.point_conv", x)

    height, width = low.shape[2:]
    whole = F.pad(low, (0, -width % _STRIDE, 0, -height % _STRIDE), "reflect")
    small = F.interpolate(whole, scale_factor=1 / _STRIDE, mode="bilinear")
    rates = crossed(small, layer)
    rates = F.interpolate(rates, scale_factor=_STRIDE, mode="bilinear", align_corners=True)
    return curves(whole, [rates] * 8)[:, :, :height, :width]


def sci(found: Weights, low: torch.Tensor) -> torch.Tensor:
    seen = conv(found, "enhance.in_conv.0", low).relu()
    inner = conv(found, "enhance.conv.0", seen)
    seen = seen + normed(found, "enhance.conv.1", inner).relu()
    light = conv(found, "enhance.out_conv.0", seen).sigmoid() + low
    return (low / light.clamp(0.0001, 1)).clamp(0, 1)


_LIGHT = {"c1_r": (1, 1), "c2_d": (1, 2), "c2_r": (0, 1), "c3_d": (0, 1), "c4": (0, 1)}
_NOISE = {"c1_d": (1, 1), "c1_r": (1, 1), "c2_d": (1, 2), "c3_d": (1, 1), "c3_r": (1, 1)}
"""Operations of RUAS's two cells: whether the input is added, and dilation; others do nothing."""


def ruas(found: Weights, low: torch.Tensor, kind: str) -> torch.Tensor:
    """Light in three steps, each by a cell; noise taken out where it was trained to, on LOL."""

    def cell(place: str, kinds: dict[str, tuple[int, int]], x: torch.Tensor) -> torch.Tensor:
        def step(name: str, x: torch.Tensor) -> torch.Tensor:
            if name not in kinds:
                return x
            added, dilation = kinds[name]
            made = conv(found, f"{place}.{name}.op", x, dilation=dilation)
            return made + x if added else made

        kept = []
        for number in (1, 2, 3):
            kept.append(F.leaky_relu(step(f"c{number}_d", x), 0.05))
            x = F.leaky_relu(step(f"c{number}_r", x) + x, 0.05)
        kept.append(F.leaky_relu(step("c4", x), 0.05))
        return conv(found, f"{place}.c5", torch.cat(kept, 1))

    def brightest(x: torch.Tensor) -> torch.Tensor:
        return F.max_pool2d(F.pad(x, (0, 1, 0, 1)), 2, 1)

    made = low
    for number in range(3):
        light = brightest(made) - (0.5 * (made - low) if number else 0)
        place = f"enhance_net.iems.{number}.cell"
        light = cell(place, _LIGHT, light).sigmoid().clamp(0.001, 1)
        made = (low / light).clamp(0, 1)
    if kind != "lol":
        return made
    seen = conv(found, "denoise_net.stem", made)
    for number in range(3):
        seen = cell(f"denoise_net.nrms.{number}", _NOISE, seen)
    return made - conv(found, "denoise_net.activate.0", seen)


def pairlie(found: Weights, low: torch.Tensor, power: float) -> torch.Tensor:
    """Light to a power times reflectance; the power is .14 for LOL, else .2."""

    def part(name: str, x: torch.Tensor) -> torch.Tensor:
        for number in (1, 4, 7, 10, 13):
            x = F.pad(x if number == 1 else x.relu(), (1, 1, 1, 1), "reflect")
            x = conv(found, f"{name}.{name}.{number}", x, padding=0)
        return x.sigmoid()

    clean = part("N_net", low)
    return part("L_net", clean) ** power * part("R_net", clean)


def iat(found: Weights, low: torch.Tensor) -> torch.Tensor:
    """Product and sum by pixel, then colour and gamma of the whole picture."""

    def across(name: str, x: torch.Tensor) -> torch.Tensor:
        x = x.movedim(1, -1) @ found[f"{name}.color"].T
        return (x * found[f"{name}.alpha"][0] + found[f"{name}.beta"][0]).movedim(-1, 1)

    def block(name: str, x: torch.Tensor) -> torch.Tensor:
        x = x + conv(found, f"{name}.pos_embed", x, groups=x.shape[1])
        seen = conv(found, f"{name}.conv1", across(f"{name}.norm1", x))
        seen = conv(found, f"{name}.attn", seen, groups=x.shape[1])
        x = x + found[f"{name}.gamma_1"] * conv(found, f"{name}.conv2", seen)
        seen = conv(found, f"{name}.mlp.fc1", across(f"{name}.norm2", x))
        return x + found[f"{name}.gamma_2"] * conv(found, f"{name}.mlp.fc2", F.gelu(seen))

    def linear(name: str, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, found[f"{name}.weight"], found.get(f"{name}.bias"))

    start = F.leaky_relu(conv(found, "local_net.conv1", low), 0.2)
    product = total = start
    for number in range(3):
        product = block(f"local_net.mul_blocks.{number}", product)
        total = block(f"local_net.add_blocks.{number}", total)
    made = low * conv(found, "local_net.mul_end.0", product + start).relu()
    made = made + conv(found, "local_net.add_end.0", total + start).tanh()

    place = "global_net.conv_large.proj"
    seen = conv(found, f"{place}.0", low, stride=2)
    seen = conv(found, f"{place}.3", F.gelu(normed(found, f"{place}.1", seen)), stride=2)
    seen = normed(found, f"{place}.4", seen)
    place = "global_net.generator"
    seen = seen + conv(found, f"{place}.pos_embed", seen, groups=seen.shape[1])
    seen = seen.flatten(2).transpose(1, 2)
    x = F.layer_norm(
        seen, seen.shape[2:], found[f"{place}.norm1.weight"], found[f"{place}.norm1.bias"]
    )
    key, value = (
        linear(f"{place}.attn.{one}", x).unflatten(2, (4, -1)).transpose(1, 2) for one in "kv"
    )
    query = found[f"{place}.attn.q"].unflatten(2, (4, -1)).transpose(1, 2)
    x = F.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)
    x = linear(f"{place}.attn.proj", x)
    seen = F.layer_norm(
        x, x.shape[2:], found[f"{place}.norm2.weight"], found[f"{place}.norm2.bias"]
    )
    x = x + linear(f"{place}.mlp.fc2", F.gelu(linear(f"{place}.mlp.fc1", seen)))
    gamma = linear("global_net.gamma_linear", x[0, 0]) + found["global_net.gamma_base"]
    colour = linear("global_net.color_linear", x[0, 1:]).view(3, 3) + found["global_net.color_base"]
    made = (made.movedim(1, -1) @ colour.T).clamp(1e-8, 1)
    return (made**gamma).movedim(-1, 1)


if __name__ == "__main__":
    main()
