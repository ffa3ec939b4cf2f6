// Text in HTML and SVG.
#pragma once

#include <string>

namespace coconet::cli {

std::string escaped(const std::string& text);

}  // namespace coconet::cli
