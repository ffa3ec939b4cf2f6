"""The files of a tree that the checks look at, and C++ text without comments and literals."""
import os
import re
import shutil
import subprocess
from pathlib import Path

CPP = {".h", ".cc", ".cuh", ".cu"}
# Files given with the data, kept as they came.
GIVEN = Path("examples/data")
_SKIPPED = re.compile(r"^(build(-.*)?|\.git|__pycache__|\.cache)$")


def files(root: Path) -> list[Path]:
    """Relative paths, sorted: what git tracks or would, or (without git) all but build folders;
    without the folder GIVEN."""
    return [path for path in _all_files(root) if GIVEN not in path.parents]


def _all_files(root: Path) -> list[Path]:
    if (root / ".git").exists() and shutil.which("git"):
        listing = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z", "-co", "--exclude-standard"],
            capture_output=True, check=False)
        if listing.returncode == 0:
            names = {Path(os.fsdecode(n)) for n in listing.stdout.split(b"\0") if n}
            return sorted(n for n in names if (root / n).is_file())
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if not _SKIPPED.match(f)]
        found += [Path(folder, name).relative_to(root) for name in names]
    return sorted(found)


def text_of(path: Path) -> str | None:
    """The text of a file; None if it is not text."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


_TOKEN = re.compile(
    r"""//(?:\\\n|[^\n])*                            # line comment
      | /\*.*?\*/                                    # block comment
      | (?:u8|[uUL])?R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"   # raw string
      | (?:u8|[uUL])?"(?:\\.|[^"\\\n])*"             # string
      | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'          # character; not a digit separator
    """, re.VERBOSE | re.DOTALL)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b[^\n]*", re.MULTILINE)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def without_literals(text: str, keep_includes: bool = False) -> str:
    """`text` with comments, strings and characters turned to spaces; lines keep their numbers."""
    kept = {}
    if keep_includes:
        kept = {m.start(): m.group() for m in _INCLUDE.finditer(text)}
    out, at = [], 0
    while match := _TOKEN.search(text, at):
        line_start = text.rfind("\n", 0, match.start()) + 1
        line = kept.get(line_start)
        out.append(text[at:match.start()])
        is_include_name = line is not None and match.group().startswith('"')
        out.append(match.group() if is_include_name else _blank(match.group()))
        at = match.end()
    return "".join(out) + text[at:]
