# scyper_inline_bitcode(TARGET SOURCE symbol): compiles the C++ file SOURCE of the static library TARGET once more, to LLVM bitcode,
# and puts it into TARGET as `extern "C" const unsigned char <symbol>[]` with `<symbol>_end`: what jit::InlineLibrary takes.
# The source is compiled natively too, as usual: list it in TARGET's sources.
find_program(SCYPER_BITCODE_COMPILER clang++-19 REQUIRED)
set(SCYPER_INLINE_BITCODE_ASM ${CMAKE_CURRENT_LIST_DIR}/inline_bitcode.cc.in CACHE INTERNAL "")

function(scyper_inline_bitcode target source symbol)
  set(bitcode ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.bc)
  set(holder ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.cc)
  set(includes $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
  set(definitions $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
  # optimised, but not vectorised: that is for after inlining. No type-based aliasing, as in the rest of the code.
  add_custom_command(
    OUTPUT ${bitcode}
    COMMAND ${SCYPER_BITCODE_COMPILER} -std=c++20 -O2 -DNDEBUG -emit-llvm -c -fno-exceptions -fno-rtti -fno-strict-aliasing
            -fno-unwind-tables -fno-asynchronous-unwind-tables -fno-stack-protector -fno-vectorize -fno-slp-vectorize
            -fno-threadsafe-statics -fPIC "$<$<BOOL:${includes}>:-I$<JOIN:${includes},;-I>>"
            "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},;-D>>"
            -MD -MF ${bitcode}.d -o ${bitcode} ${CMAKE_CURRENT_SOURCE_DIR}/${source}
    DEPENDS ${source}
    DEPFILE ${bitcode}.d
    COMMAND_EXPAND_LISTS VERBATIM)
  set(SCYPER_BITCODE_FILE ${bitcode})
  set(SCYPER_BITCODE_SYMBOL ${symbol})
  configure_file(${SCYPER_INLINE_BITCODE_ASM} ${holder} @ONLY)
  set_source_files_properties(${holder} PROPERTIES OBJECT_DEPENDS ${bitcode})
  target_sources(${target} PRIVATE ${holder})
endfunction()
