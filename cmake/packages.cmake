# The packages of tools/install.sh. oneDNN is used by one shared library only
# (coconet/CMakeLists.txt).
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(GTest REQUIRED)

find_path(RANDOM123_INCLUDE_DIR Random123/philox.h)
if(NOT RANDOM123_INCLUDE_DIR)
  message(FATAL_ERROR "Random123/philox.h is not there; tools/install.sh installs it")
endif()
add_library(coconet_random123 INTERFACE)
target_include_directories(coconet_random123 SYSTEM INTERFACE ${RANDOM123_INCLUDE_DIR})
