// Atomic writing: readers see the old file or the whole new one, never a part.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace coconet {

// Writes `parts` one after the other to a temporary file in the folder of `path` (without a name,
// where that can be), syncs it, and renames it to `path`, replacing a file of that name (through a
// symbolic link: the file it points to). Throws UserError (data) naming the path if anything fails,
// or if `path` is something other than a regular file; the temporary file is then removed and the
// old file stays.
void write_file(const std::string& path, std::span<const std::span<const std::byte>> parts);

// Throws what write_file would of a path that no file can be written to, and writes nothing: for
// whoever has a long way to go before there is something to write.
void check_writable(const std::string& path);

}  // namespace coconet
