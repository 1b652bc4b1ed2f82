# dwell_llvm.so: the pass plugin for clang, built for one version of LLVM. Its symbols come from the
# clang that loads it.
find_package(LLVM 14 CONFIG QUIET)
if(NOT LLVM_FOUND)
    message(STATUS "LLVM 14 not found (llvm-14-dev): no probes for clang")
    return()
endif()
add_library(dwell_llvm MODULE
    llvm_plugin.cpp
    llvm_probes.cpp
    llvm_sites.cpp
    llvm_tables.cpp
    llvm_tail_calls.cpp
    selection.cpp
    ${PROJECT_SOURCE_DIR}/runtime/enabling_profile.cpp)
set_target_properties(dwell_llvm PROPERTIES PREFIX "" CXX_VISIBILITY_PRESET hidden)
target_include_directories(dwell_llvm SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
target_compile_definitions(dwell_llvm PRIVATE ${LLVM_DEFINITIONS_LIST})
target_compile_options(dwell_llvm PRIVATE -fno-rtti -fno-exceptions)
target_link_libraries(dwell_llvm PRIVATE dwell_options)
