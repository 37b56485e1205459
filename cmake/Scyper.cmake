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
                      -Wno-unused-but-set-parameter -Wno-maybe-uninitialized -Wno-restrict -Wno-free-nonheap-object)
  set(CMAKE_PCH_WARN_INVALID OFF)  # it does without the precompiled header where a target's definitions differ
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

# One precompiled header for every library, program and test: foreign headers only, which change with the packages alone. Sources
# include what they use all the same, and headers must (tools/checks/precompiled.py).
set(SCYPER_PCH <algorithm> <atomic> <bit> <chrono> <condition_variable> <cstddef> <cstdint> <cstring> <deque> <functional> <limits> <map>
               <memory> <mutex> <optional> <set> <span> <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector>
               <absl/status/status.h> <absl/status/statusor.h> <absl/strings/str_cat.h>)
file(WRITE ${CMAKE_BINARY_DIR}/house/pch.cc "")
add_library(scyper_pch OBJECT ${CMAKE_BINARY_DIR}/house/pch.cc)
target_link_libraries(scyper_pch PRIVATE absl::status absl::statusor absl::strings)
target_precompile_headers(scyper_pch PRIVATE ${SCYPER_PCH})
add_library(scyper_test_pch OBJECT ${CMAKE_BINARY_DIR}/house/pch.cc)
target_link_libraries(scyper_test_pch PRIVATE absl::status absl::statusor absl::strings GTest::gtest GTest::gmock)
target_precompile_headers(scyper_test_pch PRIVATE ${SCYPER_PCH} <gtest/gtest.h> <gmock/gmock.h>)
# A test's own code is large and runs once: the asan tree spends no time on optimizing it. The tsan tree does: where templates of
# libraries are not inlined, it misses what they synchronise.
set(SCYPER_TEST_OPTIONS "")
if(SCYPER_SANITIZE MATCHES address)
  set(SCYPER_TEST_OPTIONS -O0)
endif()
target_compile_options(scyper_test_pch PRIVATE ${SCYPER_TEST_OPTIONS})

# All targets below `folder`.
function(scyper_targets_below folder result)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(subfolders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(subfolder ${subfolders})
    scyper_targets_below(${subfolder} below)
    list(APPEND targets ${below})
  endforeach()
  set(${result} ${targets} PARENT_SCOPE)
endfunction()

# Gives every library and program below `folder` the precompiled header; called when all targets exist.
function(scyper_precompile folder)
  scyper_targets_below(${folder} targets)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    get_target_property(options ${target} COMPILE_OPTIONS)
    get_target_property(libraries ${target} LINK_LIBRARIES)
    if(NOT type MATCHES "^(STATIC_LIBRARY|EXECUTABLE)$" OR options MATCHES "sanitize=|-O0")
      continue()  # the others' options differ from the header's
    elseif("GTest::gtest" IN_LIST libraries)
      target_compile_options(${target} PRIVATE ${SCYPER_TEST_OPTIONS})
      target_precompile_headers(${target} REUSE_FROM scyper_test_pch)
    else()
      target_precompile_headers(${target} REUSE_FROM scyper_pch)
    endif()
  endforeach()
endfunction()

# Trees with SCYPER_UNITE, as those of sanitizers are, compile eight sources of a library or of a test as one: half of the time goes into headers, templates and inline
# functions that they share. Sources whose own names clash with others' compile alone: scyper_compiled_alone(source ...), to be
# called where their target is declared.
set(SCYPER_UNITY_SOURCES 8)
function(scyper_compiled_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION TRUE)
endfunction()
function(scyper_unite folder)
  scyper_targets_below(${folder} targets)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    # generated code clashes and is large
    if((type STREQUAL STATIC_LIBRARY AND NOT target STREQUAL scyper_proto) OR (type STREQUAL EXECUTABLE AND target MATCHES "_test$"))
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${SCYPER_UNITY_SOURCES})
    endif()
  endforeach()
endfunction()

# Targets beyond the programs and tests: `house` = link tests; `headers` = header tests; `sanitized` = what a sanitizer tree runs.
add_custom_target(house)
add_custom_target(headers)
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

# A ctest entry that passes when the program could be built, which the target `group` does.
function(scyper_house_program name group)
  add_executable(${name} EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/house/main.cc ${ARGN})
  target_compile_options(${name} PRIVATE -w)  # system headers are not marked as such here
  add_dependencies(${group} ${name})
  add_test(NAME ${name} COMMAND ${name})
  set(labels house)
  if(group STREQUAL headers)
    list(APPEND labels full)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT 60 LABELS "${labels}")
endfunction()

# link_test_X for the library scyper_X: the whole of it with nothing but its declared parts.
function(scyper_link_test library)
  string(REGEX REPLACE "^scyper_" "link_test_" test ${library})
  get_target_property(folder ${library} SOURCE_DIR)
  get_target_property(deps ${library} LINK_LIBRARIES)
  list(FILTER deps EXCLUDE REGEX "^::@|NOTFOUND")
  file(RELATIVE_PATH top ${CMAKE_SOURCE_DIR} ${folder})
  string(REGEX REPLACE "/.*" "" top ${top})
  scyper_check_layers(${top} ${deps})
  scyper_house_program(${test} house)
  target_link_libraries(${test} PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,${library}> ${deps})
endfunction()

# header_test_X for the folder X: each header compiles alone, but for the precompiled one, with what the folder's libraries may see.
# Looks for headers when CMake runs, not at every build: the next configuration finds a new one.
function(scyper_header_test folder)
  file(RELATIVE_PATH place ${CMAKE_SOURCE_DIR} ${folder})
  string(REPLACE "/" "_" test header_test_${place})
  file(GLOB_RECURSE public ${folder}/include/*.h)
  file(GLOB private ${folder}/*.h)
  set(sources "")
  foreach(header ${public} ${private})
    file(RELATIVE_PATH place ${CMAKE_SOURCE_DIR} ${header})
    string(REPLACE "/" "." place ${place})
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/house/${place}.cc CONTENT "#include \"${header}\"\n")
    list(APPEND sources ${CMAKE_BINARY_DIR}/house/${place}.cc)
  endforeach()
  if(sources)
    scyper_house_program(${test} headers ${sources})
    target_precompile_headers(${test} REUSE_FROM scyper_pch)
    foreach(library ${ARGN})
      target_include_directories(${test} PRIVATE $<TARGET_PROPERTY:${library},INCLUDE_DIRECTORIES>)
      target_compile_definitions(${test} PRIVATE $<TARGET_PROPERTY:${library},COMPILE_DEFINITIONS>)
      get_target_property(deps ${library} LINK_LIBRARIES)
      list(FILTER deps EXCLUDE REGEX "^::@|NOTFOUND")
      target_link_libraries(${test} PRIVATE ${library} ${deps})
    endforeach()
  endif()
endfunction()

# The tests above for every library of ours below `folder`, however it was declared.
function(scyper_house_tests folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  set(libraries "")
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL STATIC_LIBRARY AND target MATCHES "^scyper_")
      scyper_link_test(${target})
      list(APPEND libraries ${target})
    endif()
  endforeach()
  if(libraries)
    scyper_header_test(${folder} ${libraries})
  endif()
  get_property(subfolders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(subfolder ${subfolders})
    scyper_house_tests(${subfolder})
  endforeach()
endfunction()

# scyper_library(NAME SOURCES ... [DEPS ...] [PRIVATE_DEPS ...]): the library of one folder. DEPS are what its
# public headers need. Public headers live in NAME/include/NAME and are the only ones other folders can see.
function(scyper_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(scyper_${name} STATIC ${ARG_SOURCES})
  target_include_directories(scyper_${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/include
                                            PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(scyper_${name} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
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

# scyper_test_run(NAME TARGET program [ARGS ...] [LABELS ...] [TIMEOUT seconds] [POSTGRES] [SERIAL] [LOCK name] [COST n] [SANITIZE ...] [ENV ...]):
# one more ctest entry of a program, say a longer slice. LABELS full = only in `make test-full`. POSTGRES = needs the oracle
# server, whose libpq connection string it finds in SCYPER_TEST_POSTGRES. SERIAL = runs alone. LOCK = not beside others with the same
# name. COST = starts before those of less (and of none): for long ones, so that they do not run alone at the end.
function(scyper_test_run name)
  cmake_parse_arguments(ARG "POSTGRES;SERIAL" "TARGET;TIMEOUT;LOCK;COST" "ARGS;LABELS;SANITIZE;ENV" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${name}: unknown ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 900)  # a busy machine: only what hangs should come to it
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
  if(ARG_LOCK)
    set_tests_properties(${tests} PROPERTIES RESOURCE_LOCK ${ARG_LOCK})
  endif()
  if(ARG_COST)
    set_tests_properties(${tests} PROPERTIES COST ${ARG_COST})
  endif()
endfunction()

# scyper_program(NAME SOURCES ... DEPS ...): an executable in bin/.
function(scyper_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
endfunction()

# What fuzzers reach must tell libFuzzer which branches it took. Only the asan tree by clang has fuzzers; elsewhere nothing.
if(SCYPER_SANITIZE MATCHES address AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
  set(SCYPER_FUZZING TRUE)
endif()
function(scyper_fuzzed)
  if(SCYPER_FUZZING)
    foreach(library ${ARGN})
      target_compile_options(${library} PRIVATE -fsanitize=fuzzer-no-link)
    endforeach()
  endif()
endfunction()

# scyper_fuzzer(NAME SOURCES ... DEPS ... [CORPUS folder] [SECONDS n]): a libFuzzer program; one of SOURCES defines
# LLVMFuzzerTestOneInput. Built in the asan tree only. Kept inputs lie in CORPUS, tests/data/fuzz/NAME unless told otherwise.
# `make test` runs the kept inputs and changed ones from a fixed seed, for SECONDS (5 unless told otherwise);
# `make fuzz` runs each fuzzer for FUZZ_SECONDS. Libraries to be seen from inside: scyper_fuzzed(library ...).
add_custom_target(fuzzers)
function(scyper_fuzzer name)
  cmake_parse_arguments(ARG "" "CORPUS;SECONDS" "SOURCES;DEPS" ${ARGN})
  if(NOT ARG_SECONDS)
    set(ARG_SECONDS 5)
  endif()
  if(NOT ARG_CORPUS)
    set(ARG_CORPUS ${CMAKE_SOURCE_DIR}/tests/data/fuzz/${name})
  endif()
  set(program ${CMAKE_SOURCE_DIR}/build/asan/bin/${name})
  if(SCYPER_FUZZING)
    add_executable(${name} EXCLUDE_FROM_ALL ${ARG_SOURCES})
    target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(${name} PRIVATE ${ARG_DEPS})
    add_dependencies(sanitized ${name})
    add_dependencies(fuzzers ${name})
    file(APPEND ${CMAKE_BINARY_DIR}/fuzzers.txt "${name} ${ARG_CORPUS}\n")  # for tools/fuzz
    set(program $<TARGET_FILE:${name}>)
  elseif(NOT CMAKE_BINARY_DIR STREQUAL "${CMAKE_SOURCE_DIR}/build/release")
    return()
  endif()
  add_test(NAME asan.${name} COMMAND ${CMAKE_SOURCE_DIR}/tools/fuzz check ${program} ${ARG_CORPUS} ${ARG_SECONDS})
  set_tests_properties(asan.${name} PROPERTIES TIMEOUT 1200 COST ${ARG_SECONDS} LABELS "asan;fuzz" ENVIRONMENT
    "LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tools/lsan.supp:print_suppressions=0;UBSAN_OPTIONS=print_stacktrace=1")
endfunction()
file(WRITE ${CMAKE_BINARY_DIR}/fuzzers.txt "")

# The oracle: one throwaway PostgreSQL 15 per ctest run, for the tests that ask for it. A unix socket path has at most 107 characters.
string(MD5 scyper_tree_hash ${CMAKE_BINARY_DIR})
string(SUBSTRING ${scyper_tree_hash} 0 10 scyper_tree_hash)
set(SCYPER_POSTGRES_DIR /tmp/scyper-postgres-${scyper_tree_hash})
function(scyper_postgres_fixture)
  set(script ${CMAKE_SOURCE_DIR}/tools/postgres-server)
  add_test(NAME postgres_start COMMAND ${script} start ${SCYPER_POSTGRES_DIR})
  add_test(NAME postgres_stop COMMAND ${script} stop ${SCYPER_POSTGRES_DIR})
  set_tests_properties(postgres_start PROPERTIES FIXTURES_SETUP postgres TIMEOUT 600 LABELS fixture)
  set_tests_properties(postgres_stop PROPERTIES FIXTURES_CLEANUP postgres TIMEOUT 300 LABELS fixture)
endfunction()

# scyper_check(NAME SCRIPT [LABELS ...] [ARGS ...]): a house rule that a program checks (label house).
function(scyper_check name script)
  cmake_parse_arguments(ARG "" "" "LABELS;ARGS" ${ARGN})
  add_test(NAME house_${name} COMMAND python3 ${CMAKE_SOURCE_DIR}/tools/checks/${script}.py ${CMAKE_SOURCE_DIR} ${ARG_ARGS})
  set_tests_properties(house_${name} PROPERTIES TIMEOUT 3600 LABELS "house;${ARG_LABELS}")
endfunction()
