#include "coconet/runtime/gemm/panels.h"

#if defined(__x86_64__)
#include <algorithm>
#include <cstring>
#include <vector>

#include "coconet/runtime/gemm/operand.h"
#include "coconet/runtime/gemm/packed.h"
#include "coconet/runtime/gemm/panel_kernels.h"
#include "coconet/runtime/gemm/subnormal.h"

// The output is made in strips of rows, a strip panel by panel, and of a panel a few rows at once:
// what is read again and again is the strip's left operand and one panel, which stay in the cache.
namespace coconet::gemm {

namespace {

using kernel::MatmulCall;
using kernel::MatmulType;

// One panel of a product.
struct PanelPlace {
  std::int64_t first, columns;  // of the output
  bool kept;                    // the panel stands packed already
  std::byte* packed;
  const std::byte* next;  // the next panel, packed, if there is one; else this one
};

// Panels that are packed together: of a row of the right operand that takes more than one line of
// the cache, as neighbours cost little.
constexpr std::int64_t kGroup = 4;

// What strips and panels have in common. Kernels says how they are multiplied.
template <class Kernels>
class PanelProduct {
 public:
  explicit PanelProduct(const MatmulCall& call) : call_(call), kernels_(call) {}

  void run() {
    const std::int64_t rows = kernels_.strip_rows();
    const bool again = call_.b_id != 0 || call_.m > rows;  // a panel is read by several strips
    thread_local PackedOperands operands;
    thread_local Packed once;
    Packed& packed = call_.b_id != 0 ? operands.of(call_) : once;
    if (call_.b_id == 0) packed.begin(call_);
    const std::int64_t panels = (call_.n + kPanel - 1) / kPanel;
    const std::int64_t bytes = kernels_.panel_bytes();
    std::byte* const room =
        packed.room.of(static_cast<std::size_t>(bytes * (again ? panels : kGroup)));
    const auto place = [&](std::int64_t p, bool kept) {
      const bool last = p + 1 >= (again ? packed.panels : 0);
      std::byte* const panel = room + (again ? p : p % kGroup) * bytes;
      return PanelPlace{p * kPanel, std::min(kPanel, call_.n - p * kPanel), kept, panel,
                        last ? panel : panel + bytes};
    };
    for (std::int64_t i = 0; i < call_.m; i += rows) {
      kernels_.begin_strip(i, std::min(rows, call_.m - i));
      for (std::int64_t p = 0; p < panels; p += kGroup) {
        const std::int64_t end = std::min(panels, p + kGroup);
        const bool kept = again && end <= packed.panels;
        if (!kept) kernels_.pack(place(p, false), end - p, packed);
        for (std::int64_t q = p; q < end; ++q) kernels_.multiply(place(q, kept));
        if (!kept) packed.panels = end;
      }
    }
    kernels_.finish(packed);
  }

 private:
  const MatmulCall& call_;
  Kernels kernels_;
};

const std::byte* at(const void* matrix, MatmulType type, std::int64_t stride, bool transposed,
                    std::int64_t row, std::int64_t column) {
  const std::int64_t index = transposed ? column * stride + row : row * stride + column;
  return static_cast<const std::byte*>(matrix) + index * size_of(type);
}

std::byte* out_at(const MatmulCall& call, std::int64_t row, std::int64_t column) {
  return static_cast<std::byte*>(call.out) +
         (row * call.out_stride + column) * size_of(call.out_type);
}

// Where a block's f32 results go: to the output itself, or to a tile that is narrowed to it.
class Result {
 public:
  // `tile`: rows of kPanel, on lines of the cache.
  Result(const MatmulCall& call, std::int64_t row, std::int64_t column, bool direct, float* tile)
      : type_(call.out_type),
        tile_(tile),
        out_(out_at(call, row, column)),
        out_stride_(call.out_stride),
        direct_(direct && type_ == MatmulType::f32) {}

  float* to() { return direct_ ? reinterpret_cast<float*>(out_) : tile_; }
  std::int64_t stride() const { return direct_ ? out_stride_ : kPanel; }

  void expect(std::int64_t rows) const { expect_writes(out_, rows, out_stride_ * size_of(type_)); }
  void finish(std::int64_t rows, std::int64_t columns) {
    if (direct_) return;
    if (type_ == MatmulType::bf16) {
      auto* const out = reinterpret_cast<std::uint16_t*>(out_);
      return narrow_bf16(tile_, rows, columns, out, out_stride_);
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      narrow(tile_ + r * kPanel, columns, type_, out_ + r * out_stride_ * size_of(type_));
    }
  }

 private:
  MatmulType type_;
  float* tile_;
  std::byte* out_;
  std::int64_t out_stride_;
  bool direct_;
};

// Pieces of `whole` that are as equal as may be, each at most `most`; calls work(begin, count).
template <class Work>
void in_pieces(std::int64_t whole, std::int64_t most, Work&& work) {
  const std::int64_t pieces = (whole + most - 1) / most;
  for (std::int64_t p = 0; p < pieces; ++p) {
    const std::int64_t begin = whole * p / pieces;
    work(begin, whole * (p + 1) / pieces - begin);
  }
}

class F32Kernels {
 public:
  static constexpr std::int64_t kPart = 512;
  static constexpr std::int64_t kStripBytes = std::int64_t{1} << 17;  // of the left operand

  explicit F32Kernels(const MatmulCall& call) : call_(call) {}

  std::int64_t strip_rows() const {
    return std::max(4 * kF32Rows, kStripBytes / (call_.k * 4) / kF32Rows * kF32Rows);
  }
  std::int64_t panel_bytes() const { return call_.k * kPanel * 4; }

  void begin_strip(std::int64_t row, std::int64_t rows) {
    first_ = row;
    rows_ = rows;
    const std::byte* from = at(call_.a, call_.type, call_.a_stride, call_.ta, row, 0);
    std::int64_t stride = call_.a_stride;
    thread_local Scratch scratch;
    if (call_.ta) {
      from = scratch.transpose(from, stride, size_of(call_.type), rows, call_.k);
      stride = call_.k;
    }
    a_ = call_.type == MatmulType::f32
             ? Operand{from, stride}
             : scratch.copy(from, stride, call_.type, false, rows, call_.k, rows, call_.k);
    // Worth a pass over it if it is read more than once.
    if (call_.n > kPanel) turn();
  }

  // The first block of a strip keeps what it reads.
  void pack(const PanelPlace&, std::int64_t, Packed&) const {}
  void finish(const Packed&) const {}

  // k in parts: of a part, the panel and a few rows fit into the first cache.
  void multiply(const PanelPlace& panel) {
    Operand b{panel.packed, kPanel};
    bool packed = panel.kept;
    if (!packed) {
      b = {at(call_.b, call_.type, call_.b_stride, call_.tb, 0, panel.first), call_.b_stride};
      packed = copy(panel, b);
    }
    thread_local Room room;
    auto* const tile =
        reinterpret_cast<float*>(room.of(static_cast<std::size_t>(rows_ * kPanel) * sizeof(float)));
    in_pieces(call_.k, kPart, [&](std::int64_t k, std::int64_t count) {
      const auto part = [&](const void* from, std::int64_t stride) {
        return static_cast<const float*>(from) + k * stride;
      };
      const float* from = part(b.data, b.stride);
      std::int64_t stride = b.stride;
      auto* kept = packed ? nullptr : const_cast<float*>(part(panel.packed, kPanel));
      const float* later = part(panel.next, kPanel);
      in_pieces(rows_, kF32Rows, [&](std::int64_t begin, std::int64_t rows) {
        Result result(call_, first_ + begin, panel.first, true, tile + begin * kPanel);
        const bool turned = a_.stride == 0;
        const float* a = reinterpret_cast<const float*>(a_.data) +
                         (turned ? begin * call_.k + k * rows : begin * a_.stride + k);
        multiply_f32({a, from, result.to(), a_.stride, stride, result.stride(), count,
                      panel.columns, k > 0, later},
                     rows, kept);
        if (k + count == call_.k) result.finish(rows, panel.columns);
        from = part(panel.packed, kPanel);
        stride = kPanel;
        kept = nullptr;
        // The first two fetch the two lines of each of the part's rows.
        later = begin == 0 ? later + count * 16 : from;
      });
    });
  }

 private:
  void turn() {
    thread_local Room room;
    auto* const to = reinterpret_cast<float*>(
        room.of(static_cast<std::size_t>(rows_ * call_.k) * sizeof(float)));
    in_pieces(rows_, kF32Rows, [&](std::int64_t begin, std::int64_t rows) {
      turn_rows(reinterpret_cast<const float*>(a_.data) + begin * a_.stride, a_.stride, rows,
                call_.k, to + begin * call_.k);
    });
    a_ = {reinterpret_cast<const std::byte*>(to), 0};
  }

  // Whether it had to be copied.
  bool copy(const PanelPlace& panel, Operand& b) const {
    if (call_.type == MatmulType::f32 && !call_.tb && panel.columns == kPanel) return false;
    thread_local Scratch turned;
    if (call_.tb) {
      b = {turned.transpose(b.data, b.stride, size_of(call_.type), call_.k, panel.columns),
           panel.columns};
    }
    auto* to = reinterpret_cast<float*>(panel.packed);
    for (std::int64_t i = 0; i < call_.k; ++i, to += kPanel) {
      widen(b.data + i * b.stride * size_of(call_.type), call_.type, panel.columns, to);
      std::fill(to + panel.columns, to + kPanel, 0.0f);
    }
    b = {panel.packed, kPanel};
    return true;
  }

  const MatmulCall& call_;
  std::int64_t first_ = 0, rows_ = 0;
  Operand a_;  // its stride is 0 if it is turned
};

class Bf16Kernels {
 public:
  static constexpr std::int64_t kStripBytes = std::int64_t{1} << 19;  // of the left operand

  explicit Bf16Kernels(const MatmulCall& call)
      : call_(call), depth_((call.k + kTileDepth - 1) / kTileDepth * kTileDepth) {}

  std::int64_t strip_rows() const {
    constexpr std::int64_t kStep = 2 * kTileRows;
    return std::max(kStep, kStripBytes / (depth_ * 2) / kStep * kStep);
  }
  std::int64_t panel_bytes() const { return depth_ * kPanel * 2; }

  void begin_strip(std::int64_t row, std::int64_t rows) {
    first_ = row;
    rows_ = rows;
    thread_local Scratch turned;
    thread_local Room room;
    const std::int64_t padded = (rows + kTileRows - 1) / kTileRows * kTileRows;
    a_ = reinterpret_cast<std::uint16_t*>(room.of(static_cast<std::size_t>(padded * depth_ * 2)));
    const std::byte* from = at(call_.a, call_.type, call_.a_stride, call_.ta, row, 0);
    std::int64_t stride = call_.a_stride;
    if (call_.ta) {
      from = turned.transpose(from, stride, 2, rows, call_.k);
      stride = call_.k;
    }
    const auto* a = reinterpret_cast<const std::uint16_t*>(from);
    for (std::int64_t i = 0; i < rows; i += kTileRows) {
      pack_rows(a + i * stride, stride, std::min(kTileRows, rows - i), call_.k, a_ + i * depth_);
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      if (holds_subnormal(a + i * stride, call_.k)) subnormal_rows_.push_back(row + i);
    }
  }

  void pack(const PanelPlace& first, std::int64_t count, Packed& kept) const {
    const std::byte* from = at(call_.b, call_.type, call_.b_stride, call_.tb, 0, first.first);
    const std::int64_t columns = std::min(count * kPanel, call_.n - first.first);
    std::int64_t stride = call_.b_stride;
    thread_local Scratch turned;
    if (call_.tb) {
      from = turned.transpose(from, stride, 2, call_.k, columns);
      stride = columns;
    }
    const auto* b = reinterpret_cast<const std::uint16_t*>(from);
    auto* const packed = reinterpret_cast<std::uint16_t*>(first.packed);
    std::uint32_t subnormal[kGroup] = {};
    for (std::int64_t k = 0; k < call_.k; k += kTileDepth, b += kTileDepth * stride) {
      for (std::int64_t j = 0; j < columns; j += kPanel) {
        subnormal[j / kPanel] |=
            pack_bf16(b + j, stride, std::min(kTileDepth, call_.k - k),
                      std::min(kPanel, columns - j), packed + j * depth_ + k * kPanel);
      }
    }
    for (std::int64_t j = 0; j < columns; ++j) {
      if ((subnormal[j / kPanel] >> j % kPanel & 1) != 0) {
        kept.subnormal_columns.push_back(first.first + j);
      }
    }
  }

  void finish(const Packed& packed) const {
    if (subnormal_rows_.empty() && packed.subnormal_columns.empty()) return;
    multiply_again(call_, subnormal_rows_, packed.subnormal_columns);
  }

  void multiply(const PanelPlace& panel) const {
    const auto* const packed = reinterpret_cast<const std::uint16_t*>(panel.packed);
    for (std::int64_t i = 0; i < rows_; i += 2 * kTileRows) {
      block(panel, packed, i, std::min(2 * kTileRows, rows_ - i));
    }
  }

 private:
  void block(const PanelPlace& panel, const std::uint16_t* packed, std::int64_t begin,
             std::int64_t rows) const {
    alignas(64) float tile[2 * kTileRows * kPanel];
    Result result(call_, first_ + begin, panel.first,
                  rows % kTileRows == 0 && panel.columns == kPanel, tile);
    result.expect(rows);
    const std::uint16_t* const above = a_ + begin * depth_;
    multiply_bf16(above, rows > kTileRows ? above + kTileRows * depth_ : nullptr, packed, depth_,
                  result.to(), result.stride(),
                  reinterpret_cast<const std::uint16_t*>(panel.next) +
                      begin / (2 * kTileRows) % 4 * kPanel * kTileDepth / 4);
    result.finish(rows, panel.columns);
  }

  const MatmulCall& call_;
  std::int64_t depth_;  // k, in whole tiles
  std::int64_t first_ = 0, rows_ = 0;
  std::uint16_t* a_ = nullptr;
  std::vector<std::int64_t> subnormal_rows_;
  Tiles tiles_;
};

void multiply_f32_panels(const MatmulCall& call) { PanelProduct<F32Kernels>(call).run(); }
void multiply_bf16_panels(const MatmulCall& call) { PanelProduct<Bf16Kernels>(call).run(); }

}  // namespace

PanelFunctions panel_functions() {
  const ProcessorHas has = processor_has();
  return {has.avx512 ? &multiply_f32_panels : nullptr,
          has.amx_bf16 ? &multiply_bf16_panels : nullptr};
}

}  // namespace coconet::gemm
#else
namespace coconet::gemm {

PanelFunctions panel_functions() { return {}; }

}  // namespace coconet::gemm
#endif
