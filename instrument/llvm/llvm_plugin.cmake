# dwell_llvm.so: the pass plugin for clang, built for one version of LLVM. Its symbols come from the
# clang that loads it.
find_package(LLVM 14 CONFIG QUIET)
if(LLVM_FOUND)
    add_library(dwell_llvm MODULE
        llvm/llvm_plugin.cpp
        llvm/llvm_probes.cpp
        llvm/llvm_as_written.cpp
        llvm/llvm_loop_shape.cpp
        llvm/llvm_sites.cpp
        llvm/llvm_tables.cpp
        llvm/llvm_tail_calls.cpp
        selection/profile_wishes.cpp)
    set_target_properties(dwell_llvm PROPERTIES PREFIX "" SUFFIX ".so")
    target_include_directories(dwell_llvm SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
    target_compile_options(dwell_llvm PRIVATE -fvisibility=hidden -fno-exceptions -fno-rtti)
    target_link_libraries(dwell_llvm PRIVATE dwell_selection dwell_enabling_profile)
    install(TARGETS dwell_llvm LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/dwell)
else()
    message(STATUS "No LLVM 14 (llvm-14-dev): source probes for clang are left out")
endif()
