#include "coconet/runtime/symmetric_memory.h"

#include <utility>

#include "coconet/runtime/bootstrap.h"
#include "coconet/runtime/memory.h"

namespace coconet::runtime {

SymmetricMemory::SymmetricMemory(std::string name, int rank, int ranks, std::size_t bytes,
                                 std::chrono::milliseconds timeout)
    : name_(std::move(name)), rank_(rank), bytes_(bytes) {
  need_memory(bytes, "symmetric memory");
  segments_ = join({.job = name_,
                    .rank = rank,
                    .ranks = ranks,
                    .data_bytes = bytes,
                    .setting = {"symmetric memory of " + std::to_string(bytes) + " bytes"},
                    .timeout = timeout})
                  .segments;
}

}  // namespace coconet::runtime
