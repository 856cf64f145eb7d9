# SPDX-License-Identifier: Apache-2.0
"""The files of the played machine: changed in memory, written together, each by atomic rename."""

import os
import pathlib
import shutil


class Tree:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self._texts = {}
        self._changed = set()
        self._removed = []

    def _file(self, path):
        return self.root / path.lstrip("/")

    def text(self, path):
        """The file's text, or None where this machine has no such file."""
        if path not in self._texts:
            if any(path.startswith(gone + "/") for gone in self._removed):
                return None
            file = self._file(path)
            self._texts[path] = file.read_text() if file.is_file() else None
        return self._texts[path]

    def glob(self, pattern):
        """Paths in the tree, as on the machine."""
        found = ("/" + str(f.relative_to(self.root)) for f in self.root.glob(pattern.lstrip("/")))
        return sorted(p for p in found if not any(p == gone or p.startswith(gone + "/") for gone in self._removed))

    def set(self, path, text):
        if self.text(path) != text:
            self._texts[path] = text
            self._changed.add(path)

    def changes(self, below):
        """Whether something below that folder waits to be written."""
        return any(path.startswith(below) for path in self._changed)

    def remove(self, path):
        """A file or folder goes."""
        for known in self._texts:
            if known == path or known.startswith(path + "/"):
                self._texts[known] = None
                self._changed.discard(known)
        self._removed.append(path)

    def flush(self):
        """Writes what changed. A reader sees the old or the new file, never a part of it; a name
        that begins with a dot is none that it looks for."""
        for path in sorted(self._changed):
            file = self._file(path)
            temporary = file.with_name(f".{file.name}.new")
            file.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(self._texts[path])
            os.rename(temporary, file)
        self._changed.clear()
        for path in self._removed:
            file = self._file(path)
            if file.is_dir():
                shutil.rmtree(file, ignore_errors=True)
            else:
                file.unlink(missing_ok=True)
        self._removed.clear()
