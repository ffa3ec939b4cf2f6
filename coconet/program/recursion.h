// Functions of a file that call themselves: none may, as a call stands for the function's
// expression.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "coconet/program/syntax.h"

namespace coconet {

// By name: the functions by way of which it calls itself, in the order of the calls; none: it does
// so directly. Of each cycle one function.
std::map<std::string, std::vector<std::string>> recursive_functions(const syntax::Tree& tree);

}  // namespace coconet
