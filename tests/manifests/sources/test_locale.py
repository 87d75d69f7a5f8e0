"""Names with letters of all languages are the same in every locale."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

NAMES = {"Straße.jpg": b"one", "日本/2.jpg": b"two"}
CODE = """
import json, sys
from pathlib import Path
from gloam.manifests.sources import list_source, read
from gloam.storage.parquet import read_table

assert sys.getfilesystemencoding() != "utf-8"
kind, path, table = sys.argv[1:]
found = {item.path: read(item.location).decode() for item in list_source(kind, path)}
found["rows"] = read_table(Path(table)).num_rows
print(json.dumps(found))
"""


@pytest.mark.parametrize("kind", ["folder", "tar", "zip", "webdataset"])
def test_sources_and_tables_are_read_in_a_locale_of_other_letters(
    tmp_path: Path, fill_folder: Any, write_tar: Any, write_zip: Any, kind: str
) -> None:
    make = {"folder": fill_folder, "zip": write_zip}.get(kind, write_tar)
    path = make(tmp_path / "Fotos-für-ä", NAMES)
    table = tmp_path / "ä.parquet"
    pq.write_table(pa.table({"a": [1, 2]}), table)
    source = "archive" if kind in ("tar", "zip") else kind
    settings = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    said = subprocess.run(
        [sys.executable, "-c", CODE, source, str(path), str(table)],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not said.returncode, said.stderr
    inside = f"{path.name}/" if kind == "webdataset" else ""
    expected = {f"{inside}{name}": data.decode() for name, data in NAMES.items()}
    assert json.loads(said.stdout) == expected | {"rows": 2}
