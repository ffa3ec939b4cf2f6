#include "coconet/execute/lists.h"

#include <cstring>

#include "coconet/base/error.h"
#include "coconet/interp/global_tensor.h"
#include "coconet/io/distribute.h"

namespace coconet::execute {

std::string member_name(const std::string& list, std::int64_t member) {
  return list + "." + std::to_string(member);
}

bool is_member(const std::string& list, const std::string& name) {
  return name.size() > list.size() + 1 && name.starts_with(list + ".") &&
         name.find_first_not_of("0123456789", list.size() + 1) == std::string::npos;
}

std::int64_t members_of(const TensorType& list, const Sizes& sizes) {
  return sizes.members(list_index(list.shape[0]));
}

std::vector<std::int64_t> member_shape(const TensorType& list, const interp::Setting& setting,
                                       std::int64_t member) {
  Sizes own;
  for (const auto& [name, size] : setting.sizes) own[name] = size;
  for (const auto& [name, sizes] : setting.sizes.lists) {
    if (list_index(name) == list_index(list.shape[0])) own[name] = sizes.at(member);
  }
  return file_shape(bind(*list.list, own), list.layout, setting.mesh);
}

namespace {

// Calls copy(member, element in the packed whole, element of the member, elements) for each member
// and each entry of the leading dims.
template <class Copy>
void for_each_part(const TensorType& list, const interp::Setting& setting, const Copy& copy) {
  std::int64_t entries = 1;
  for (std::int64_t size : file_shape({}, list.layout, setting.mesh)) entries *= size;
  const std::int64_t whole = list.shape[0].bind(setting.sizes);
  for (std::int64_t entry = 0; entry < entries; ++entry) {
    std::int64_t at = entry * whole;
    for (std::int64_t k = 0; k < members_of(list, setting.sizes); ++k) {
      const std::int64_t count = *element_count(member_shape(list, setting, k)) / entries;
      copy(k, at, entry * count, count);
      at += list.is_scalar_list() ? 1 : Dim::blocks(Dim(count)).bind({}) * kBlock;
    }
  }
}

}  // namespace

interp::Bytes pack(const TensorType& list, const interp::Setting& setting,
                   const std::vector<const TensorData*>& members) {
  const std::int64_t size = size_of(list.dtype.kind);
  interp::Bytes out(*byte_count(list.dtype.kind, interp::global_sizes(list, setting)));
  for_each_part(list, setting,
                [&](std::int64_t k, std::int64_t to, std::int64_t from, std::int64_t count) {
                  if (count == 0) return;
                  std::memcpy(&out[to * size], &members.at(k)->bytes[from * size], count * size);
                });
  return out;
}

std::vector<TensorData> unpack(const TensorType& list, const interp::Setting& setting,
                               const interp::Bytes& packed) {
  const std::int64_t size = size_of(list.dtype.kind);
  std::vector<TensorData> out;
  for (std::int64_t k = 0; k < members_of(list, setting.sizes); ++k) {
    out.push_back(TensorData::zeros(list.dtype.kind, member_shape(list, setting, k)));
  }
  for_each_part(list, setting,
                [&](std::int64_t k, std::int64_t from, std::int64_t to, std::int64_t count) {
                  if (count == 0) return;
                  std::memcpy(&out[k].bytes[to * size], &packed[from * size], count * size);
                });
  return out;
}

}  // namespace coconet::execute
