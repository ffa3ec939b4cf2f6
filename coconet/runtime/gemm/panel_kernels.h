// Products of a few rows with a panel: kPanel columns of the right operand, copied so that what one
// step along k needs lies together. For x86-64 processors alone; all may be called only where
// processor_has() says so.
//
// Every output element is one chain: from +0, for k = 0, 1, ... (f32: a fused multiply-add for each
// k; bf16: what the matrix unit does with 32 at a time, those behind the last one zeros). It is the
// same for every count of rows and columns, so nothing else here has to see to that.
#pragma once

#include <cstdint>

namespace coconet::gemm {

inline constexpr std::int64_t kPanel = 32;
inline constexpr std::int64_t kF32Rows = 14;  // at most, of one product
inline constexpr std::int64_t kTileRows = 16;
inline constexpr std::int64_t kTileDepth = 32;

struct ProcessorHas {
  bool avx512 = false;    // the f32 functions
  bool amx_bf16 = false;  // the bf16 functions, and the system lets this process use them
};
ProcessorHas processor_has();

// What multiply_f32 reads best: the rows' first elements, then their second ones, ...
void turn_rows(const float* from, std::int64_t stride, std::int64_t rows, std::int64_t k,
               float* turned);

// Some rows of the left operand, and kPanel columns of the right one, in a panel or where they
// stand.
struct RowsByPanel {
  const float* a;
  const float* panel;
  float* out;
  std::int64_t a_stride;      // 0: as turn_rows gives them
  std::int64_t panel_stride;  // in a panel kPanel
  std::int64_t out_stride;
  std::int64_t k;
  std::int64_t columns;  // that are written, at most kPanel
  bool add;              // the chains go on from what out holds; else they begin
  const float* later;    // k lines of the cache that are read soon, fetched to the second one
};
// out = a * panel, of `rows` rows (1 to kF32Rows). If `kept` is not null, it gets the panel.
void multiply_f32(const RowsByPanel& work, std::int64_t rows, float* kept);

// Blocks of kTileDepth rows, each two tiles of 16 columns, a tile's row being one pair of rows.
// `panel` has room for k rounded up to kTileDepth, like what pack_rows makes. Gives a bit for each
// column that holds a subnormal.
std::uint32_t pack_bf16(const std::uint16_t* from, std::int64_t stride, std::int64_t k,
                        std::int64_t columns, std::uint16_t* panel);
// Up to kTileRows rows of the left operand: blocks of kTileDepth columns, zeros elsewhere.
void pack_rows(const std::uint16_t* from, std::int64_t stride, std::int64_t rows, std::int64_t k,
               std::uint16_t* packed);
bool holds_subnormal(const std::uint16_t* values, std::int64_t count);
// While it lives this thread's matrix unit is set up for multiply_bf16.
class Tiles {
 public:
  Tiles();
  ~Tiles();
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};
// out[16 or 32, kPanel] = what pack_rows made of 16 rows, and of the next 16 if `below` is not
// null, * panel. `later`: of each kPanel * kTileDepth elements the first 1/4 will be read soon.
void multiply_bf16(const std::uint16_t* above, const std::uint16_t* below,
                   const std::uint16_t* panel, std::int64_t k, float* out, std::int64_t out_stride,
                   const std::uint16_t* later);

// The first `columns` of rows that are kPanel apart, on lines of the cache, as bf16: the bits of
// convert.h's narrow.
void narrow_bf16(const float* tile, std::int64_t rows, std::int64_t columns, std::uint16_t* out,
                 std::int64_t out_stride);

// The lines at `out`, out + stride (bytes), ... will be written soon. Another core may have read
// them last, and then a store waits for it.
void expect_writes(const void* out, std::int64_t rows, std::int64_t stride);

}  // namespace coconet::gemm
