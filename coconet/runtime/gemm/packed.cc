#include "coconet/runtime/gemm/packed.h"

#include <algorithm>
#include <new>

namespace coconet::gemm {

namespace {

constexpr std::align_val_t kLine{64};

bool same_operand(const kernel::MatmulCall& x, const kernel::MatmulCall& y) {
  return x.b_id == y.b_id && x.b == y.b && x.k == y.k && x.n == y.n && x.b_stride == y.b_stride &&
         x.type == y.type && x.tb == y.tb;
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
  auto found = std::find_if(latest_.begin(), latest_.end(),
                            [&](const auto& packed) { return same_operand(packed->call, call); });
  if (found == latest_.end()) {
    if (latest_.size() < kMostPacked) latest_.push_back(std::make_unique<Packed>());
    found = latest_.end() - 1;
    (*found)->call = call;
    (*found)->panels = 0;
  }
  std::rotate(latest_.begin(), found, found + 1);
  return *latest_.front();
}

}  // namespace coconet::gemm
