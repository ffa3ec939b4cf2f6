// libFuzzer's entry to one target, COCONET_FUZZ_TARGET (tests/CMakeLists.txt: the preset `fuzz`).
#include <cstdint>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const coconet::fuzz::Target& target = coconet::fuzz::target(COCONET_FUZZ_TARGET);
  target.run({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
