#include "bench/peers/operations.h"

#include <stdexcept>

namespace coconet::bench {

OperationName::OperationName(const std::string& name) {
  const std::size_t dot = name.find('.'), slash = name.find('/');
  if (dot == std::string::npos || slash == std::string::npos || slash < dot) {
    throw std::runtime_error("no operation " + name);
  }
  workload = name.substr(0, dot);
  dtype = name.substr(dot + 1, slash - dot - 1);
  form = name.substr(slash + 1);
}

std::unique_ptr<Operations> operations_of(Library& library, const Arguments& arguments) {
  const std::string group = arguments.text("group");
  if (group == "optimizers") return optimizers(library, arguments);
  if (group == "rows") return rows(library, arguments);
  if (group == "products") return products(library, arguments);
  throw std::runtime_error("no group " + group);
}

}  // namespace coconet::bench
