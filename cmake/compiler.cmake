# Language, optimisation, warnings, sanitizers, compiler cache.
if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
   OR (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 16))
  message(FATAL_ERROR "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} is too old; needed: "
                      "GCC 12 or clang 16 (Debian 12 and Ubuntu 24.04 have GCC 12 or newer)")
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# RelWithDebInfo is the daily build: -O1 and line tables, for fast compiles. The folders where time
# is spent at run time get -O2 (coconet/CMakeLists.txt). No build type defines NDEBUG: checks are
# never compiled out.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "RelWithDebInfo, Release or Debug" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")

# No contraction: the interpreter and the generated code must agree bit for bit. The prefix maps
# make the places in error messages relative to the root (ccache passes the second form).
file(RELATIVE_PATH coconet_root ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
add_compile_options(-ffp-contract=off -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=
                    -ffile-prefix-map=${coconet_root}=)

set(COCONET_SANITIZE "" CACHE STRING "empty, 'address' (with undefined) or 'thread'")
if(COCONET_SANITIZE STREQUAL "address")
  set(coconet_sanitizer_flags -fsanitize=address,undefined -fno-sanitize-recover=all
                              -fno-omit-frame-pointer)
elseif(COCONET_SANITIZE STREQUAL "thread")
  set(coconet_sanitizer_flags -fsanitize=thread -fno-omit-frame-pointer)
elseif(NOT COCONET_SANITIZE STREQUAL "")
  message(FATAL_ERROR "COCONET_SANITIZE is '${COCONET_SANITIZE}'; "
                      "it may be empty, 'address' or 'thread'")
endif()
option(COCONET_FUZZ "build libFuzzer programs (tests/fuzz); needs clang" OFF)
if(COCONET_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "COCONET_FUZZ needs clang, which has libFuzzer; the compiler is "
                        "${CMAKE_CXX_COMPILER_ID}")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)  # coverage, by which it searches
endif()
add_compile_options(${coconet_sanitizer_flags})
add_link_options(${coconet_sanitizer_flags})

# For our own targets only; headers of packages are system headers. COCONET_WERROR=OFF is for
# compilers newer than those of tools/install.sh.
option(COCONET_WERROR "warnings are errors" ON)
add_library(coconet_warnings INTERFACE)
target_compile_options(coconet_warnings INTERFACE -Wall -Wextra
                       $<$<BOOL:${COCONET_WERROR}>:-Werror>)
# In sanitized code GCC sees uninitialised values that are none, as in std::regex.
if(COCONET_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(coconet_warnings INTERFACE -Wno-maybe-uninitialized)
endif()

# Paths are made relative before hashing, so that several checkouts share one cache.
find_program(COCONET_CCACHE ccache)
if(COCONET_CCACHE AND (NOT CMAKE_CXX_COMPILER_LAUNCHER
                       OR CMAKE_CXX_COMPILER_LAUNCHER MATCHES "^[^;]*ccache$"))
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      ${COCONET_CCACHE})
endif()
