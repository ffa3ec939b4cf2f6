#include "coconet/runtime/gemm/packed.h"

#include <algorithm>
#include <new>

namespace coconet::gemm {

namespace {

constexpr std::align_val_t kLine{64};

// The same matrix, though perhaps of other values.
bool same_place(const kernel::MatmulCall& x, const kernel::MatmulCall& y) {
  return x.b == y.b && x.k == y.k && x.n == y.n && x.b_stride == y.b_stride && x.type == y.type &&
         x.tb == y.tb;
}

}  // namespace

void Room::Free::operator()(std::byte* data) const { ::operator delete(data, kLine); }

std::byte* Room::of(std::size_t bytes) {
  if (bytes > bytes_) {
    data_.reset();
    bytes_ = 0;
    data_.reset(static_cast<std::byte*>(::operator new(bytes, kLine)));
    bytes_ = bytes;
  }
  return data_.get();
}

Packed& PackedOperands::of(const kernel::MatmulCall& call) {
  const bool constant = (call.b_id & kernel::MatmulCall::kConstant) != 0;
  Latest& latest = constant ? constant_ : once_;
  auto found = std::find_if(latest.begin(), latest.end(),
                            [&](const auto& packed) { return same_place(packed->call, call); });
  if (found == latest.end()) {
    if (latest.size() < (constant ? kMostConstant : kMostPacked)) {
      latest.push_back(std::make_unique<Packed>());
    }
    found = latest.end() - 1;
  }
  if ((*found)->call.b_id != call.b_id || !same_place((*found)->call, call)) {
    (*found)->begin(call);
  }
  std::rotate(latest.begin(), found, found + 1);
  return *latest.front();
}

}  // namespace coconet::gemm
