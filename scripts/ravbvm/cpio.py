# SPDX-License-Identifier: GPL-2.0
"""Archives of the "newc" kind, which the kernel unpacks into its initramfs."""

import stat
from pathlib import Path


class Cpio:
    """An archive in memory. The same contents make the same bytes: no times, no owners."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._names: set[str] = set()
        self._inode = 0

    def _entry(self, name: str, mode: int, data: bytes) -> None:
        self._inode += 1
        encoded = name.encode() + b"\0"
        fields = (self._inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0)
        self._data += b"070701" + b"".join(b"%08x" % value for value in fields) + encoded
        self._data += bytes(-len(self._data) % 4)
        self._data += data
        self._data += bytes(-len(self._data) % 4)

    def directory(self, name: str, mode: int = 0o755) -> None:
        """A directory and those above it, unless they are there."""
        parent = name.rpartition("/")[0]
        if parent:
            self.directory(parent)
        if name not in self._names:
            self._names.add(name)
            self._entry(name, stat.S_IFDIR | mode, b"")

    def file(self, name: str, data: bytes, mode: int = 0o644) -> None:
        """A regular file; its directory is made."""
        parent = name.rpartition("/")[0]
        if parent:
            self.directory(parent)
        self._entry(name, stat.S_IFREG | mode, data)

    def copy(self, name: str, source: Path) -> None:
        """A file, link or directory with all that is in it, but compiled Python."""
        if source.is_symlink():
            self.directory(name.rpartition("/")[0])
            self._entry(name, stat.S_IFLNK | 0o777, str(source.readlink()).encode())
        elif source.is_dir():
            self.directory(name, source.stat().st_mode & 0o777)
            for child in sorted(source.iterdir()):
                if child.name != "__pycache__":
                    self.copy(f"{name}/{child.name}", child)
        else:
            self.file(name, source.read_bytes(), source.stat().st_mode & 0o777)

    def finish(self) -> bytes:
        """The archive."""
        self._entry("TRAILER!!!", 0, b"")
        self._data += bytes(-len(self._data) % 512)
        return bytes(self._data)
