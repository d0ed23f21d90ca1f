# SPDX-License-Identifier: Apache-2.0
# Compiler settings that hold for every target, and the helpers that add them.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")

option(LATHE_PCH "Precompile the large headers of libraries: a clean build takes half the time" ON)

# Half of the time of a source file goes into these. Only headers of libraries: ours change too often.
function(lathe_precompile target)
  if(LATHE_PCH)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Without this ccache passes every file of a target with precompiled headers by.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros "${CCACHE_PROGRAM}")
  set(CMAKE_C_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()

# Links of tests are a tenth of a clean build with GNU ld: mold takes 1 s where that takes 5, under a sanitizer 2.6 s of 9.6.
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM AND LATHE_TESTS AND NOT LATHE_FUZZ)
  add_link_options(-fuse-ld=mold)
endif()

add_library(lathe_settings INTERFACE)
target_include_directories(lathe_settings INTERFACE "${CMAKE_SOURCE_DIR}")
# -Wrestrict, -Wstringop-overflow, -Warray-bounds: gcc 12 sees overlaps in std::string that are not there (its bug 105651).
target_compile_options(lathe_settings INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds)
# clang, of the fuzz preset, knows some of gcc's warnings under no name.
target_compile_options(lathe_settings INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-unknown-warning-option>)
if(LATHE_WERROR)
  target_compile_options(lathe_settings INTERFACE -Werror)
endif()
if(LATHE_DCHECK)
  target_compile_definitions(lathe_settings INTERFACE LATHE_ENABLE_DCHECK)
endif()
if(LATHE_SANITIZE)
  # No -g1: with line tables the programs of tests take 69 GB. Reports name functions; -DCMAKE_CXX_FLAGS=-g1 adds lines.
  set(sanitize -fsanitize=${LATHE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  if(LATHE_FUZZ)
    # No input of a fuzz target reaches a kernel, and clang takes minutes to instrument one file of unrolled tiles.
    set(sanitize "$<$<NOT:$<STREQUAL:$<TARGET_PROPERTY:NAME>,lathe_kernels>>:${sanitize}>")
  endif()
  # -Wmaybe-uninitialized: gcc 12 with sanitizers warns of members of std::variant that no path reads.
  target_compile_options(lathe_settings INTERFACE "${sanitize}" $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(lathe_settings INTERFACE -fsanitize=${LATHE_SANITIZE})
endif()

# For a directory whose code does not compute: a build for tests is ready in two thirds of the time.
macro(lathe_quick)
  if(LATHE_QUICK_BUILD)
    add_compile_options(-O0)
  endif()
endmacro()

# The sources of a level are all its .cpp files: a new file needs no line here, only one in the table of its folder.
function(lathe_glob out)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${ARGN})
  set(${out} "${sources}" PARENT_SCOPE)
endfunction()
