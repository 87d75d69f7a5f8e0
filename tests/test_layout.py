"""The house: floors, no circles, one public face."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import gloam

ROOT = Path(gloam.__file__).parent
FLOORS = [
    {"errors", "progress", "storage", "engines", ""},
    {"manifests"},
    {"synth"},
    {"loaders"},
    {"cli", "__main__"},
]
SYNTH = [
    {"kernels"},
    {"parameters", "input_images"},
    {"degradations"},
    {"camera"},
    {"draws", "power_law_model"},
    {"recipes", "render"},
    {"models"},
    {"renderers", "clips"},
    {"measures"},
    {"fitting", "calibrating", "studio", "brackets"},
    {"building"},
    {"publishing"},
]
OWNERS = {
    "nvidia": "gloam.loaders",
    "torch": "gloam.loaders",
    "jax": "gloam.loaders",
    "numba": "gloam.synth.kernels",
    "fcntl": "gloam.storage",
    "sklearn": "gloam.synth.measures",
}
ALSO = {
    ("numba", "gloam.synth.render.on_cuda"),  # copies to and from the device
}


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted(
        ROOT.glob("**/*.py", recurse_symlinks=True) if sys.version_info >= (3, 13) else _walk(ROOT)
    ):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(("gloam", *parts)).removesuffix(".__init__")] = path
    return found


def _walk(folder: Path):
    for path in folder.iterdir():
        if path.is_dir() and path.name != "__pycache__":
            yield from _walk(path)
        elif path.suffix == ".py":
            yield path


MODULES = modules()


def imports_of(name: str) -> list[tuple[str, str, bool]]:
    """Module, imported name, and whether it is only for type checkers, of each import anywhere in a
    module."""
    path = MODULES[name]
    tree = ast.parse(path.read_text())
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, "", id(node) in typing_only) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = (
                package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            )
            target = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{target}.{alias.name}"
                found.append(
                    (inner, "", id(node) in typing_only)
                    if inner in MODULES
                    else (target, alias.name, id(node) in typing_only)
                )
    return found


ARROWS = {
    (name, target, imported)
    for name in MODULES
    for target, imported, typing_only in imports_of(name)
    if target.split(".")[0] == "gloam" and not typing_only
}


def floor(name: str, floors: list[set[str]], depth: int) -> int:
    part = (*name.split("."), *[""] * depth)[depth]
    return next(i for i, rooms in enumerate(floors) if part in rooms)


def test_nothing_imports_upwards():
    for name, target, _ in ARROWS:
        if name == "gloam":  # the face, which imports when it is asked
            continue
        assert floor(name, FLOORS, 1) >= floor(target, FLOORS, 1), (name, target)
        if name.startswith("gloam.synth.") and target.startswith("gloam.synth."):
            assert floor(name, SYNTH, 2) >= floor(target, SYNTH, 2), (name, target)
            own, other = name.split(".")[2], target.split(".")[2]
            assert own == other or floor(name, SYNTH, 2) > floor(target, SYNTH, 2), (name, target)


@pytest.mark.parametrize("folders", [False, True])
def test_there_is_no_circle(folders):
    graph = defaultdict(set)
    for name, target, _ in ARROWS:
        a, b = (room(name), room(target)) if folders else (name, target)
        nested = folders and (
            a.startswith(f"{b}.") or b.startswith(f"{a}.")
        )  # a folder and what is in it
        if a != b and "gloam" not in (a, b) and not nested:
            graph[a].add(b)
    done: set[str] = set()

    def visit(node: str, path: tuple[str, ...]) -> None:
        assert node not in path, " -> ".join((*path, node))
        if node not in done:
            for other in graph[node]:
                visit(other, (*path, node))
            done.add(node)

    for node in list(graph):
        visit(node, ())


def room(name: str) -> str:
    """The folder of a module, two levels deep."""
    return ".".join(
        (name if MODULES[name].name == "__init__.py" else name.rpartition(".")[0]).split(".")[:3]
    )


def test_heavy_libraries_have_one_owner():
    for name in MODULES:
        for target, _, typing_only in imports_of(name):
            owner = OWNERS.get(target.split(".")[0])
            if owner and not typing_only and (target.split(".")[0], name) not in ALSO:
                assert name.startswith(owner), (name, target)


def test_underscored_names_stay_in_their_folder():
    for name, target, imported in ARROWS:
        if imported.startswith("_") and not imported.startswith("__"):
            assert room(name) == room(target), (name, target, imported)


FACE = [
    "ClipLoader",
    "Darken",
    "ImageLoader",
    "PairLoader",
    "TorchLoader",
    "__version__",
    "brackets",
    "build",
    "calibrate",
    "darken",
    "darken_batch",
    "doctor",
    "errors",
    "export",
    "fit",
    "judge",
    "leaks",
    "load_recipe",
    "mix",
    "open_set",
    "pairs_in",
    "preview",
    "publish",
    "real",
    "realism",
    "rebuild",
    "regenerate",
    "report",
    "sets",
    "solve_field",
    "stage",
    "stats",
    "verify",
]


def test_the_face_has_these_names_and_no_others():
    assert sorted(gloam.__all__) == FACE
    assert set(FACE) <= set(dir(gloam))
    for name in FACE:
        value = getattr(gloam, name)
        if name not in ("__version__", "errors"):
            assert inspect.getdoc(value), name
    with pytest.raises(AttributeError, match="no attribute 'brighten'"):
        gloam.brighten  # noqa: B018


def test_importing_gloam_loads_nothing_else():
    code = (
        "import sys; before = set(sys.modules); import gloam; "
        "print(sorted(name for name in set(sys.modules) - before if not name.startswith('gloam')))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert not {"numpy", "numba", "cv2", "PIL", "torch", "click", "pydantic", "pyarrow"} & set(
        ast.literal_eval(loaded)
    )


def test_functions_take_few_positional_arguments():
    for name, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                positional = [
                    a.arg
                    for a in (*node.args.posonlyargs, *node.args.args)
                    if a.arg not in ("self", "cls")
                ]
                assert len(positional) <= 7, (
                    name,
                    node.name,
                    len(positional),
                )


READS_SETS = (
    "manifests.sets",
    "manifests.labels.label_table",
    "synth.building",
    "synth.publishing",
    "loaders",
)
UNCHECKED = ("read_bytes", "read_text", "model_construct")
READS_ITS_OWN = {
    "gloam.loaders.serving.models.preprocess",  # models that gloam wrote for Triton
    "gloam.loaders.serving.models.darken",
    "gloam.loaders.serving.triton",  # the same
    "gloam.loaders.resident",  # /proc
    "gloam.synth.building.request",  # a file of the package
}


def test_nobody_reads_a_set_past_the_checks():
    """Readers of sets open files by gloam.storage.untrusted, and take JSON from there."""
    found = []
    for name, path in MODULES.items():
        inner = name.removeprefix("gloam.")
        if name in READS_ITS_OWN or not inner.startswith(READS_SETS):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            opens = called == "open" or called.endswith(".open") or called == "os.open"
            reads = opens and any(
                isinstance(one, ast.Constant) and str(one.value).startswith("r")
                for one in node.args
            )
            if (
                called.rpartition(".")[2] in UNCHECKED
                or called in ("json.loads", "json.load")
                or reads
            ):
                found.append(f"{name}:{node.lineno}: {called}")
    assert found == []


def test_docstrings_say_what_is_done():
    """A line that begins with one of these words describes nothing by itself."""
    for name, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                for line in (ast.get_docstring(node) or "").splitlines():
                    first = line.strip().split(" ")[0]
                    assert first not in ("Of", "What", "Where", "As", "That"), (name, line)


@pytest.mark.parametrize("folder", ["benchmarks", "examples", "docs"])
def test_scripts_import_what_is_there(folder):
    for path in sorted(Path(__file__).parents[1].joinpath(folder).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("gloam."):
                try:
                    module = importlib.import_module(node.module)
                except ModuleNotFoundError as error:  # a library that is not installed here
                    if not str(error.name).startswith("gloam"):
                        continue
                    raise
                for alias in node.names:
                    found = hasattr(module, alias.name) or f"{node.module}.{alias.name}" in MODULES
                    assert found, f"{path.name}:{node.lineno}: {node.module}.{alias.name}"
