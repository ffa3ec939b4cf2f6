# <build>/generated/coconet_paths.h: where this build stands. Only the few sources that need it
# include it, so that all others compile to the same thing in every checkout.
string(JOIN " " coconet_sanitizer_text ${coconet_sanitizer_flags})
configure_file(cmake/coconet_paths.h.in generated/coconet_paths.h @ONLY)
add_library(coconet_paths INTERFACE)
target_include_directories(coconet_paths INTERFACE ${CMAKE_BINARY_DIR}/generated)
