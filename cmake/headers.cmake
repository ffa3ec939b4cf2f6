# The target check_headers compiles each header alone that no source of the same name shows to do so
# (tools/check_layers.py: name.cc includes name.h first). CUDA's device headers are left out.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/coconet/*.h
     ${CMAKE_SOURCE_DIR}/tests/*.h ${CMAKE_SOURCE_DIR}/cli/*.h
     ${CMAKE_SOURCE_DIR}/bench/*.h)
list(FILTER headers EXCLUDE REGEX "/cuda/")
set(header_units "")
foreach(header ${headers})
  string(REGEX REPLACE "\\.h$" ".cc" source ${header})
  if(NOT EXISTS ${source})
    file(RELATIVE_PATH included ${CMAKE_SOURCE_DIR} ${header})
    set(unit ${CMAKE_BINARY_DIR}/headers/${included}.cc)
    file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"${included}\"\n")
    list(APPEND header_units ${unit})
  endif()
endforeach()
if(header_units)
  add_library(check_headers OBJECT EXCLUDE_FROM_ALL ${header_units})
  target_compile_options(check_headers PRIVATE -O0 -g0)
  target_link_libraries(check_headers PRIVATE coconet coconet_warnings coconet_paths GTest::gmock)
else()
  add_custom_target(check_headers)
endif()
