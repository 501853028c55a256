"""Secrets in files: what looks like a key or a token, in any encoding of text and in archives."""

import bz2
import gzip
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, Any

from graphwalker.graphs.format.header import MAGIC

SECRET_FILES = ("*.pem", "*.key", "*.p12", "*.pfx", "*.ppk", "*.jks", "id_rsa*", "id_ed25519*",
                ".env*", "*.env", ".netrc", ".npmrc", ".pypirc", ".git-credentials")  # fmt: skip
TOKENS = {
    r"hf_": r"[A-Za-z0-9]{30,}",
    r"api_org_": r"[A-Za-z0-9]{30,}",
    r"sk-": r"(?=[\w-]*\d)[\w-]{20,}",
    r"[sr]k_live_": r"[A-Za-z0-9]{20,}",
    r"gh[pousr]_": r"[A-Za-z0-9]{36}",
    r"github_pat_": r"\w{22,}",
    r"glpat-": r"[\w-]{20,}",
    r"A[KS]IA": r"[0-9A-Z]{16}",
    r"AIza": r"[\w-]{35}",
    r"ya29\.": r"[\w-]{30,}",
    r"GOCSPX-": r"[\w-]{20,}",
    r"xox[abeprs]-": r"[A-Za-z0-9-]{10,}",
    r"npm_": r"[A-Za-z0-9]{36}",
    r"pypi-AgE": r"[\w-]{50,}",
    r"dckr_pat_": r"[\w-]{20,}",
    r"SG\.": r"[\w-]{16,}\.[\w-]{16,}",
    r"gsk_": r"[A-Za-z0-9]{40,}",
    r"xai-": r"[A-Za-z0-9]{40,}",
    r"nvapi-": r"[\w-]{40,}",
    r"pplx-": r"[A-Za-z0-9]{40,}",
    r"r8_": r"[A-Za-z0-9]{37}",
    r"tgp_v1_": r"[\w-]{30,}",
    r"hvs\.": r"[\w-]{24,}",
}
"""How the tokens of services begin, and what follows. Nothing of a word may stand before them."""
# The look behind comes second: a pattern that begins with letters is searched four times as fast.
_SECRET = re.compile(
    "|".join(rf"{begin}(?<![\w-]{begin}){rest}" for begin, rest in TOKENS.items()).encode()
    + rb"|-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-"
)
_VARIABLE = re.compile(r"(_|^)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PAT)$")
LEAST = 12
"""Characters of a variable's value that is looked for."""
BLOCK = 1 << 22
LONGEST = 256
"""Bytes by which blocks overlap."""
MOST_DEPTH = 3
"""Archives within archives that are unpacked."""
MOST_BYTES = 16 << 30
"""Bytes that one file may unpack to."""
UNPACKED: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ": lzma.LZMAFile,
}
"""How archives of one file begin, and what opens them."""
PACKED = {b"PAR1": "Parquet", b"ARROW1": "Arrow", b"\x89HDF": "HDF5", b"%PDF": "PDF",
          b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4", b"7z\xbc\xaf": "7z",
          b"Rar!": "rar", MAGIC: "a compiled graph's literals"}  # fmt: skip
"""How files begin whose contents are compressed in a way of their own, and what they are."""
DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError,
           NotImplementedError)  # fmt: skip
"""What comes of an archive that is damaged, encrypted, too deep or of an unknown method."""


def find_secret(path: Path, known: Sequence[bytes]) -> tuple[str, str]:
    """Return how the first secret in a file begins, or one of the `known` values, and what of the
    file could not be searched; `""` for none."""
    with path.open("rb") as file:
        packed = next((kind for begin, kind in PACKED.items() if _begins(file, begin)), "")
        left = path.stat().st_size + MOST_BYTES
        try:
            for block in chain.from_iterable(map(_blocks, _streams(file))):
                left -= len(block)
                if found := _secret_in(block, known):
                    return found, ""
                if left < 0:
                    return "", f"more than {MOST_BYTES >> 30} GiB when unpacked"
        except DAMAGED:
            return "", "an archive that cannot be unpacked"
    return "", packed


def values_of_variables() -> list[bytes]:
    """Return the values of this process's variables that are called a key, token or password."""
    return [
        value.encode("utf-8", "surrogateescape")
        for name, value in os.environ.items()
        if _VARIABLE.search(name) and len(value) >= LEAST
    ]


def _streams(file: IO[bytes], depth: int = 0) -> Iterator[IO[bytes]]:
    """Yield a file as it is, then what is packed in it."""
    if depth > MOST_DEPTH:
        raise OSError("archives in archives")
    is_zip = _begins(file, b"PK\3\4") or (depth == 0 and zipfile.is_zipfile(file))
    file.seek(0)
    unpack = next((opened for begin, opened in UNPACKED.items() if _begins(file, begin)), None)
    yield file
    if is_zip:
        with zipfile.ZipFile(file) as archive:
            for name in archive.infolist():
                with archive.open(name) as inner:
                    yield from _streams(inner, depth + 1)
    elif unpack:
        file.seek(0)
        with unpack(file) as inner:
            yield from _streams(inner, depth + 1)


def _begins(file: IO[bytes], begin: bytes) -> bool:
    head = file.read(len(begin))
    file.seek(0)
    return head == begin


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    """Yield what a file holds in blocks that overlap by a secret's length; of safetensors only
    what stands before the weights."""
    size = int.from_bytes(file.read(8), "little")
    is_weights = size < BLOCK and file.read(2) == b'{"'
    file.seek(0)
    rest = b""
    while block := file.read(8 + size if is_weights else BLOCK):
        yield rest + block
        rest = block[-LONGEST:]
        if is_weights:
            return


def _secret_in(block: bytes, known: Sequence[bytes]) -> str:
    """Return how the first secret begins; also in UTF-16 and UTF-32, whose zeros are left out."""
    for data in (block, block.replace(b"\0", b"")) if b"\0" in block else (block,):
        if found := _SECRET.search(data):
            return found[0][:6].decode() + "..."
        if any(value in data for value in known):
            return "the value of an environment variable"
    return ""
