# Small programs for the tests, compiled as users do: with the MPI compiler wrappers.
find_program(DWELL_TEST_MPICC NAMES mpicc.openmpi mpicc)
find_program(DWELL_TEST_MPICXX NAMES mpicxx.openmpi mpicxx)
find_program(DWELL_TEST_MPIFORT NAMES mpifort.openmpi mpifort)

# dwell_test_program(<folder> <name> <source> [flags and objects...]): the compiler follows from the
# source's ending. -g -O1 come first, so flags may override them.
function(dwell_test_program folder name source)
    set(source ${CMAKE_CURRENT_SOURCE_DIR}/programs/${source})
    set(more "")
    if(source MATCHES "\\.c$")
        set(compiler ${DWELL_TEST_MPICC})
        set(more -Wall -Wextra -Wno-stringop-overread)
    elseif(source MATCHES "\\.cpp$")
        set(compiler ${DWELL_TEST_MPICXX})
        set(more -Wall)
    else()
        set(compiler ${DWELL_TEST_MPIFORT})
        set(more -w -fallow-argument-mismatch -ffree-line-length-none
            -J${CMAKE_CURRENT_BINARY_DIR}/${name}.modules)
    endif()
    if(NOT compiler)
        return()  # the tests that want it skip and say so
    endif()
    set(target ${CMAKE_CURRENT_BINARY_DIR}/bin/${name})
    add_custom_command(OUTPUT ${target}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/bin
                ${CMAKE_CURRENT_BINARY_DIR}/${name}.modules
        COMMAND ${compiler} -g -O1 ${more} ${source} -o ${target} ${ARGN}
        DEPENDS ${source} VERBATIM)
    set_property(GLOBAL APPEND PROPERTY dwell_${folder}_programs ${target})
endfunction()

# dwell_python_test(<label> <name> <script> <time-out in seconds> <arguments...>). Those labelled long
# run with `ctest -C Long` only.
function(dwell_python_test label name script timeout)
    set(only "")
    if(label STREQUAL "long")
        set(only CONFIGURATIONS Long)
    endif()
    # Tests that compare times have both processors. The others run two at a time: most of their time
    # is a compiler's, or waiting for a launcher, an end, or what must not come.
    set(processors 2)
    if(script MATCHES "(packages|wrappers|ccache|linkers|loop_shapes|gcc_probes|clang_probes|probe_languages|callpath).py" OR
       script MATCHES "(by_hand|probes|limits|hosts|launch|usage|crash|process|output|ends).py" OR
       script MATCHES "(random|partial|exact).py")
        set(processors 1)
    endif()
    add_test(NAME ${label}.${name}
        COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${ARGN} ${only})
    set_tests_properties(${label}.${name} PROPERTIES
        LABELS ${label} TIMEOUT ${timeout} SKIP_RETURN_CODE 77 PROCESSORS ${processors}
        ENVIRONMENT "SYSTEST_DWELL=$<TARGET_FILE:dwell>;SYSTEST_LIBRARY=$<TARGET_FILE:dwell_runtime>;SYSTEST_WRAPPERS=$<TARGET_FILE_DIR:dwell-cc>;SYSTEST_PROGRAMS=${CMAKE_CURRENT_BINARY_DIR}/bin:${PROJECT_BINARY_DIR}/tests/system/bin:${PROJECT_BINARY_DIR}/tests/faults/bin;SYSTEST_SOURCES=${PROJECT_SOURCE_DIR}/tests/system")
endfunction()

# dwell_cases(<label> test_<group>.py <time-out in seconds> <names of cases...>)
function(dwell_cases label script timeout)
    string(REGEX REPLACE "^test_(.*)\\.py$" "\\1" group ${script})
    foreach(name ${ARGN})
        dwell_python_test(${label} ${group}.${name} ${script} ${timeout} ${name})
    endforeach()
    set_property(GLOBAL APPEND PROPERTY dwell_case_scripts ${CMAKE_CURRENT_SOURCE_DIR}/${script})
    set_property(GLOBAL APPEND PROPERTY dwell_cases_of_${script} ${ARGN})
endfunction()

# A case that no dwell_cases() names would never run.
function(dwell_check_cases)
    get_property(scripts GLOBAL PROPERTY dwell_case_scripts)
    list(REMOVE_DUPLICATES scripts)
    foreach(script ${scripts})
        get_filename_component(file ${script} NAME)
        get_property(named GLOBAL PROPERTY dwell_cases_of_${file})
        file(READ ${script} text)
        string(REGEX MATCHALL "\n@case\ndef [a-z_0-9]+" found "${text}")
        foreach(case ${found})
            string(REGEX REPLACE ".* " "" case "${case}")
            if(NOT case IN_LIST named)
                message(FATAL_ERROR "${file}: no dwell_cases() names ${case}, which would never run")
            endif()
        endforeach()
    endforeach()
endfunction()
