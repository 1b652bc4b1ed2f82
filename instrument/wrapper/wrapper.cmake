# dwell-cc and the names that it is called by. What it must know of the compilers that the plugins
# are built for is asked of them here.
find_program(DWELL_GCC NAMES gcc)
find_program(DWELL_CLANG NAMES clang-14 clang)

# The line of ${text} that contains ${mark}, from there on (WHOLE: from its beginning).
function(dwell_line_of text mark result)
    set(found "")
    if(text MATCHES "([^\n]*)(${mark}[^\n]*)")
        if("WHOLE" IN_LIST ARGN)
            set(found "${CMAKE_MATCH_1}${CMAKE_MATCH_2}")
        else()
            set(found "${CMAKE_MATCH_2}")
        endif()
    endif()
    string(STRIP "${found}" found)
    set(${result} "${found}" PARENT_SCOPE)
endfunction()

set(DWELL_PLUGIN_CLANG_FILE "")
set(DWELL_PLUGIN_CLANG_BYTES 0)
set(DWELL_PLUGIN_CLANG_TIME 0)
set(answer "")
if(DWELL_GCC)
    execute_process(COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C ${DWELL_GCC} -v ERROR_VARIABLE answer)
endif()
dwell_line_of("${answer}" "gcc version " DWELL_PLUGIN_GCC_VERSION)
dwell_line_of("${answer}" "Configured with: " DWELL_PLUGIN_GCC_CONFIGURED)
set(answer "")
if(DWELL_CLANG)
    execute_process(COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C ${DWELL_CLANG} -v ERROR_VARIABLE answer)
    file(REAL_PATH ${DWELL_CLANG} real)
    # ccache and its like stand for many compilers: those are asked each time.
    if(real MATCHES "/clang[^/]*$")
        set(DWELL_PLUGIN_CLANG_FILE ${real})
        file(SIZE ${real} DWELL_PLUGIN_CLANG_BYTES)
        file(TIMESTAMP ${real} DWELL_PLUGIN_CLANG_TIME "%s" UTC)
    endif()
endif()
dwell_line_of("${answer}" "clang version " DWELL_PLUGIN_CLANG_VERSION WHOLE)
configure_file(llvm/plugin_compilers.h.in ${PROJECT_BINARY_DIR}/instrument/llvm/plugin_compilers.h @ONLY)

# Everything of the wrapper but main(), so that tests can link it.
add_library(dwell_wrapper STATIC wrapper/compile_command.cpp wrapper/compiler_check.cpp)
target_link_libraries(dwell_wrapper PUBLIC dwell_options dwell_enabling_profile PRIVATE dwell_sanitize)

# Linked so that it starts fast: it runs before every compilation.
add_executable(dwell-cc wrapper/wrapper.cpp)
file(RELATIVE_PATH DWELL_LIBDIR_FROM_BINDIR ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
target_compile_definitions(dwell-cc PRIVATE DWELL_LIBDIR_FROM_BINDIR="${DWELL_LIBDIR_FROM_BINDIR}")
target_link_libraries(dwell-cc PRIVATE dwell_wrapper dwell_sanitize)
target_link_options(dwell-cc PRIVATE -static-libgcc -static-libstdc++)
install(TARGETS dwell-cc RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

set(DWELL_WRAPPERS dwell-mpicc dwell-mpicxx dwell-mpifort dwell-gcc dwell-g++ dwell-gfortran
                   dwell-clang dwell-clang++)
foreach(name ${DWELL_WRAPPERS})
    add_custom_command(TARGET dwell-cc POST_BUILD
        COMMAND ${CMAKE_COMMAND} -E create_symlink dwell-cc ${name} VERBATIM)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name} DESTINATION ${CMAKE_INSTALL_BINDIR})
endforeach()
set(DWELL_WRAPPERS ${DWELL_WRAPPERS} PARENT_SCOPE)
