// Lists as files and users have them: a list g is the tensors g.0, g.1, ..., each with the leading
// dims of io/distribute.h. Ranks have it packed (type/list.h).
#pragma once

#include <string>
#include <vector>

#include "coconet/interp/value.h"
#include "coconet/io/tensor_data.h"

namespace coconet::execute {

std::string member_name(const std::string& list, std::int64_t member);  // "g.2"
bool is_member(const std::string& list, const std::string& name);       // has such a name

std::int64_t members_of(const TensorType& list, const Sizes& sizes);
// The shape in a file of one member.
std::vector<std::int64_t> member_shape(const TensorType& list, const interp::Setting& setting,
                                       std::int64_t member);

// The packed whole, as interp/global_tensor.h takes it, and the members of one. What stands behind
// a member's elements in its last block is zero.
interp::Bytes pack(const TensorType& list, const interp::Setting& setting,
                   const std::vector<const TensorData*>& members);
std::vector<TensorData> unpack(const TensorType& list, const interp::Setting& setting,
                               const interp::Bytes& packed);

}  // namespace coconet::execute
