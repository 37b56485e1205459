# Building blocks of every folder's CMakeLists.txt: compiler settings, scyper_library(), scyper_test(), scyper_program().

find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(GTest REQUIRED)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

# frame pointers: perf and the crash handler walk the stack through native and generated code alike
add_compile_options(-Wall -Wextra -Werror -fno-omit-frame-pointer -fno-strict-aliasing)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  add_compile_options(-Wthread-safety -fpch-instantiate-templates)
  add_link_options(-fuse-ld=lld)
endif()
set(SCYPER_SANITIZE "" CACHE STRING "value of -fsanitize, empty for none")
if(SCYPER_SANITIZE)
  add_compile_options(-fsanitize=${SCYPER_SANITIZE} -fno-sanitize-recover=all -g1)
  add_link_options(-fsanitize=${SCYPER_SANITIZE})
  add_compile_definitions(SCYPER_SANITIZED=1)
endif()

# scyper_library(NAME SOURCES ... [DEPS ...] [PRIVATE_DEPS ...] [PCH ...]): the library of one folder. DEPS are what its
# public headers need. Public headers live in NAME/include/NAME and are the only ones other folders can see.
function(scyper_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_DEPS;PCH" ${ARGN})
  add_library(scyper_${name} STATIC ${ARG_SOURCES})
  target_include_directories(scyper_${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/include
                                            PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(scyper_${name} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
  if(ARG_PCH)
    target_precompile_headers(scyper_${name} PRIVATE ${ARG_PCH})
  endif()
endfunction()

# scyper_test(NAME SOURCES ... DEPS ...): one GoogleTest program, one ctest entry (labels: unit). It may see the private
# headers of the folder it lies in.
function(scyper_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS unit)
endfunction()

# scyper_program(NAME SOURCES ... DEPS ...): an executable in bin/.
function(scyper_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
endfunction()
