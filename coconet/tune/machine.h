// What measured times hold for: this machine, as far as this process may use it.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace coconet::tune {

// "Intel(R) Xeon(R) Processor, 2 cores": processor, the cores that this process may run on, and
// huge pages if ranks share any.
std::string machine_text();

// Where what was measured is kept: beside compiled libraries (runtime/library_cache.h); "" if there
// is no such place.
std::filesystem::path store_directory();

// What the file holds; null if there is none, it is damaged, or others may have written it.
nlohmann::json stored(const std::filesystem::path& file);
// Writes the file whole, or leaves it: what cannot be kept is measured again.
void store(const std::filesystem::path& file, const nlohmann::json& value);

}  // namespace coconet::tune
