#include "bench/ours/ours.h"

#include <stdexcept>

#include "bench/worker/use.h"

namespace coconet::bench {

std::function<void()> Ours::operation(const std::string& name) {
  if (name != "call") throw std::runtime_error("no operation " + name);
  return [this] { calls_.call(); };
}

double Ours::check(const std::string& name) {
  fill();
  operation(name)();
  return difference();
}

void Ours::use_between_calls(std::initializer_list<const char*> outputs, const char* input) {
  for (const char* output : outputs) use(std::as_bytes(calls_.own(output)), {});
  use({}, calls_.own(input));
}

}  // namespace coconet::bench
