# Building blocks of every folder's CMakeLists.txt: compiler settings, scyper_library(), scyper_test(), scyper_program().

set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)  # the link tests, made at the root, name what folders found
find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(GTest REQUIRED)

find_program(CCACHE ccache)
if(CCACHE)
  # sloppiness: what ccache needs to cache with precompiled headers; base_dir, nohashdir: checkouts share their results
  set(SCYPER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${SCYPER_LAUNCHER})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SCYPER_LAUNCHER})
endif()

# frame pointers: perf and the crash handler walk the stack through native and generated code alike
add_compile_options(-Wall -Wextra -Werror -fno-omit-frame-pointer -fno-strict-aliasing)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  add_compile_options(-Wthread-safety -fpch-instantiate-templates "SHELL:-Xclang -fno-pch-timestamp")
  add_link_options(-fuse-ld=lld)
else()
  # gcc 12: GoogleTest's macros after an if; clang's attributes; bounds that it guesses wrongly after inlining
  add_compile_options(-Wno-dangling-else -Wno-attributes -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds
                      -Wno-unused-but-set-parameter -Wno-maybe-uninitialized -Wno-restrict)
endif()
set(SCYPER_SANITIZE "" CACHE STRING "value of -fsanitize, empty for none")
if(SCYPER_SANITIZE)
  add_compile_options(-fsanitize=${SCYPER_SANITIZE} -fno-sanitize-recover=all -g1)
  if(SCYPER_SANITIZE MATCHES undefined AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
    # generated code has no type in front of its functions, and the interpreter calls runtime functions by their register form
    add_compile_options(-fno-sanitize=function)
  endif()
  add_link_options(-fsanitize=${SCYPER_SANITIZE})
  add_compile_definitions(SCYPER_SANITIZED=1)
endif()

# Targets beyond the programs and tests: `house` = link tests (with the headers alone); `sanitized` = what a sanitizer tree runs.
add_custom_target(house)
add_custom_target(sanitized)

file(STRINGS ${CMAKE_SOURCE_DIR}/tools/checks/layers.txt SCYPER_LAYERS REGEX "^[a-z]+:")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/checks/layers.txt)
file(WRITE ${CMAKE_BINARY_DIR}/house/main.cc "int main() { return 0; }\n")

# Stops unless every scyper_* library in ARGN belongs to a folder that `folder` may use.
function(scyper_check_layers folder)
  foreach(line ${SCYPER_LAYERS})
    if(line MATCHES "^${folder}:(.*)$")
      string(REPLACE " " ";" allowed "${CMAKE_MATCH_1}")
      list(APPEND allowed ${folder})
      foreach(dep ${ARGN})
        if(dep MATCHES "^scyper_([a-z]+)")
          set(used ${CMAKE_MATCH_1})  # scyper_ch: no folder of the top level, nothing to check
          if(EXISTS ${CMAKE_SOURCE_DIR}/${used} AND NOT used IN_LIST allowed)
            message(FATAL_ERROR "${folder}/ may not link ${dep} (tools/checks/layers.txt)")
          endif()
        endif()
      endforeach()
    endif()
  endforeach()
endfunction()

# A file that includes HEADER first and is compiled anyway (no precompiled header) shows that HEADER stands alone.
function(scyper_header_is_proven result folder header)
  set(${result} FALSE PARENT_SCOPE)
  get_filename_component(stem ${header} NAME_WE)
  foreach(source ${stem}.cc ${stem}_test.cc)
    if(EXISTS ${folder}/${source})
      file(STRINGS ${folder}/${source} first REGEX "^#include" LIMIT_COUNT 1)
      if(first MATCHES "[\"/]${stem}\\.h\"$")
        set(${result} TRUE PARENT_SCOPE)
      endif()
    endif()
  endforeach()
endfunction()

# link_test_X for the library scyper_X: the whole of it with nothing but its declared parts, and each header beside it that
# no source proves, alone. Looks for headers when CMake runs, not at every build: the next configuration finds a new one.
function(scyper_link_test library)
  string(REGEX REPLACE "^scyper_" "link_test_" test ${library})
  get_target_property(folder ${library} SOURCE_DIR)
  get_target_property(deps ${library} LINK_LIBRARIES)
  get_target_property(pch ${library} PRECOMPILE_HEADERS)
  list(FILTER deps EXCLUDE REGEX "^::@|NOTFOUND")
  file(RELATIVE_PATH place ${CMAKE_SOURCE_DIR} ${folder})
  string(REGEX REPLACE "/.*" "" top ${place})
  scyper_check_layers(${top} ${deps})
  file(GLOB_RECURSE public ${folder}/include/*.h)
  file(GLOB private ${folder}/*.h)
  set(sources ${CMAKE_BINARY_DIR}/house/main.cc)
  foreach(header ${public} ${private})
    scyper_header_is_proven(proven ${folder} ${header})
    if(pch OR NOT proven)
      file(RELATIVE_PATH place ${CMAKE_SOURCE_DIR} ${header})
      string(REPLACE "/" "." place ${place})
      file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/house/${place}.cc CONTENT "#include \"${header}\"\n")
      list(APPEND sources ${CMAKE_BINARY_DIR}/house/${place}.cc)
    endif()
  endforeach()
  add_executable(${test} EXCLUDE_FROM_ALL ${sources})
  target_compile_options(${test} PRIVATE -O0 -w)  # system headers are not marked as such here
  target_compile_definitions(${test} PRIVATE $<TARGET_PROPERTY:${library},COMPILE_DEFINITIONS>)
  target_include_directories(${test} PRIVATE $<TARGET_PROPERTY:${library},INCLUDE_DIRECTORIES>)
  target_link_libraries(${test} PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,${library}> ${deps})
  add_dependencies(house ${test})
  add_test(NAME ${test} COMMAND ${test})
  set_tests_properties(${test} PROPERTIES TIMEOUT 60 LABELS house)
endfunction()

# A link test for every library of ours below `folder`, however it was declared.
function(scyper_link_tests folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL STATIC_LIBRARY AND target MATCHES "^scyper_")
      scyper_link_test(${target})
    endif()
  endforeach()
  get_property(subfolders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(subfolder ${subfolders})
    scyper_link_tests(${subfolder})
  endforeach()
endfunction()

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

# scyper_test(NAME SOURCES ... DEPS ... [SANITIZE address|thread|none ...] + the options of scyper_test_run): one GoogleTest
# program, one ctest entry (label unit). It may see the private headers of the folder it lies in. SANITIZE says in which
# sanitizer trees `make test` runs it too: address (with undefined) unless told otherwise.
function(scyper_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;SANITIZE" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  if(NOT ARG_SANITIZE)
    set(ARG_SANITIZE address)
  endif()
  scyper_test_run(${name} TARGET ${name} SANITIZE ${ARG_SANITIZE} ${ARG_UNPARSED_ARGUMENTS})
endfunction()

# scyper_test_run(NAME TARGET program [ARGS ...] [LABELS ...] [TIMEOUT seconds] [POSTGRES] [SERIAL] [SANITIZE ...] [ENV ...]):
# one more ctest entry of a program, say a longer slice. LABELS full = only in `make test-full`. POSTGRES = needs the oracle
# server, whose libpq connection string it finds in SCYPER_TEST_POSTGRES. SERIAL = runs alone.
function(scyper_test_run name)
  cmake_parse_arguments(ARG "POSTGRES;SERIAL" "TARGET;TIMEOUT" "ARGS;LABELS;SANITIZE;ENV" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${name}: unknown ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_test(NAME ${name} COMMAND ${ARG_TARGET} ${ARG_ARGS})
  set(tests ${name})
  foreach(sanitizer ${ARG_SANITIZE})
    if(sanitizer STREQUAL "address")
      set(tree asan)
    elseif(sanitizer STREQUAL "thread")
      set(tree tsan)
    elseif(sanitizer STREQUAL "none")
      continue()
    else()
      message(FATAL_ERROR "${name}: SANITIZE is address, thread or none, not ${sanitizer}")
    endif()
    if(SCYPER_SANITIZE MATCHES "^${sanitizer}")
      add_dependencies(sanitized ${ARG_TARGET})
    endif()
    # one ctest run over all trees ends with one summary
    if(CMAKE_BINARY_DIR STREQUAL "${CMAKE_SOURCE_DIR}/build/release")
      add_test(NAME ${tree}.${name} COMMAND ${CMAKE_SOURCE_DIR}/build/${tree}/bin/${ARG_TARGET} ${ARG_ARGS})
      set_tests_properties(${tree}.${name} PROPERTIES LABELS "${tree};${ARG_LABELS}")
      list(APPEND tests ${tree}.${name})
    endif()
  endforeach()
  set(env "TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tools/tsan.supp:second_deadlock_stack=1"
          "LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tools/lsan.supp:print_suppressions=0"
          "UBSAN_OPTIONS=print_stacktrace=1" ${ARG_ENV})
  if(ARG_POSTGRES)
    list(APPEND env "SCYPER_TEST_POSTGRES=host=${SCYPER_POSTGRES_DIR} user=postgres dbname=postgres")
    set_tests_properties(${tests} PROPERTIES FIXTURES_REQUIRED postgres)
  endif()
  math(EXPR timeout_sanitized "3 * ${ARG_TIMEOUT}")
  set_tests_properties(${tests} PROPERTIES TIMEOUT ${timeout_sanitized} ENVIRONMENT "${env}")
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
  if(ARG_SERIAL)
    set_tests_properties(${tests} PROPERTIES RUN_SERIAL TRUE)
  endif()
endfunction()

# scyper_program(NAME SOURCES ... DEPS ...): an executable in bin/.
function(scyper_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
endfunction()

# The oracle: one throwaway PostgreSQL 15 per ctest run, for the tests that ask for it. A unix socket path has at most 107 characters.
string(MD5 scyper_tree_hash ${CMAKE_BINARY_DIR})
string(SUBSTRING ${scyper_tree_hash} 0 10 scyper_tree_hash)
set(SCYPER_POSTGRES_DIR /tmp/scyper-postgres-${scyper_tree_hash})
function(scyper_postgres_fixture)
  set(script ${CMAKE_SOURCE_DIR}/tools/postgres-server)
  add_test(NAME postgres_start COMMAND ${script} start ${SCYPER_POSTGRES_DIR})
  add_test(NAME postgres_stop COMMAND ${script} stop ${SCYPER_POSTGRES_DIR})
  set_tests_properties(postgres_start PROPERTIES FIXTURES_SETUP postgres TIMEOUT 120 LABELS fixture)
  set_tests_properties(postgres_stop PROPERTIES FIXTURES_CLEANUP postgres TIMEOUT 60 LABELS fixture)
endfunction()

# scyper_check(NAME SCRIPT [LABELS ...] [ARGS ...]): a house rule that a program checks (label house).
function(scyper_check name script)
  cmake_parse_arguments(ARG "" "" "LABELS;ARGS" ${ARGN})
  add_test(NAME house_${name} COMMAND python3 ${CMAKE_SOURCE_DIR}/tools/checks/${script}.py ${CMAKE_SOURCE_DIR} ${ARG_ARGS})
  set_tests_properties(house_${name} PROPERTIES TIMEOUT 3600 LABELS "house;${ARG_LABELS}")
endfunction()
