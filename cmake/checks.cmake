# tools/check.sh, each check a ctest test labelled `check`, and the tests of the checks themselves.
# Not under sanitizers: the sources are the same there.
find_program(COCONET_PYTHON python3 REQUIRED)
if(NOT COCONET_SANITIZE)
  foreach(check format layers size words headers readme)
    add_test(NAME check.${check} COMMAND tools/check.sh ${check}
             WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(check.${check} PROPERTIES LABELS check TIMEOUT 300
                         ENVIRONMENT COCONET_BUILD=${CMAKE_BINARY_DIR})
  endforeach()
  file(GLOB tool_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/tests/*_test.py)
  foreach(test ${tool_tests})
    get_filename_component(name ${test} NAME_WE)
    add_test(NAME tools.${name} COMMAND ${COCONET_PYTHON} -B ${test}
             WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}/tools)
    set_tests_properties(tools.${name} PROPERTIES LABELS check TIMEOUT 120
                         ENVIRONMENT PYTHONPATH=${CMAKE_SOURCE_DIR}/tools)
  endforeach()
endif()
