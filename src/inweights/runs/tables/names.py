"""Name the stored parts of a run: ``<part>-<hash of its bytes>.<suffix>``.

Since the name contains the hash of the content,
:class:`~inweights.runs.tables.store.Store` needs no list of complete files: a file
whose bytes do not match its name is treated as missing.
"""

import hashlib

#: The part of a run that is not a table: its trained weights.
MODEL_PART = "model"
#: Number of characters of a hash, hexadecimal digits of SHA-256.
HASH = 16


def name_of(part: str, content: bytes) -> str:
    """Return the file name of a table or of the weights of a run, without the folder.

    Args:
        part: Name of the table, or :data:`MODEL_PART` (``model``) for the weights.
        content: Bytes of the file, which determine the hash in the name.

    Example:
        >>> name_of("recall", b"")
        'recall-e3b0c44298fc1c14.parquet'
    """
    digest = hashlib.sha256(content).hexdigest()[:HASH]
    return f"{part}-{digest}{ending(part)}"


def ending(part: str) -> str:
    """Return the suffix of a file: ``.parquet`` for a table, ``.safetensors`` for the weights.

    Args:
        part: Name of the table, or :data:`MODEL_PART` (``model``) for the weights.
    """
    return ".safetensors" if part == MODEL_PART else ".parquet"
