# Small programs for the tests, compiled as users do: with the MPI compiler wrappers.
find_program(DWELL_TEST_MPICC NAMES mpicc.openmpi mpicc)
find_program(DWELL_TEST_MPICXX NAMES mpicxx.openmpi mpicxx)
find_program(DWELL_TEST_MPIFORT NAMES mpifort.openmpi mpifort)

# The folder of each room of system/: tests import what others of them define.
file(GLOB rooms ${PROJECT_SOURCE_DIR}/tests/system/*/CMakeLists.txt)
list(TRANSFORM rooms REPLACE "/CMakeLists.txt$" "")
list(APPEND rooms ${PROJECT_SOURCE_DIR}/tests/system/support)
list(JOIN rooms ":" DWELL_TEST_PYTHONPATH)

# dwell_built_program(<file>): `all` makes it. The rule that makes it stands in the same folder.
function(dwell_built_program target)
    get_directory_property(programs dwell_programs)
    if(NOT programs)
        cmake_language(DEFER CALL dwell_make_programs)
    endif()
    set_property(DIRECTORY APPEND PROPERTY dwell_programs ${target})
endfunction()

function(dwell_make_programs)
    get_directory_property(programs dwell_programs)
    list(REMOVE_DUPLICATES programs)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR}/tests ${CMAKE_CURRENT_SOURCE_DIR})
    string(REPLACE "/" "_" folder ${folder})
    add_custom_target(dwell_${folder}_programs ALL DEPENDS ${programs})
endfunction()

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
    set(target ${DWELL_TEST_BIN}/${name})
    add_custom_command(OUTPUT ${target}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${DWELL_TEST_BIN} ${CMAKE_CURRENT_BINARY_DIR}/${name}.modules
        COMMAND ${compiler} -g -O1 ${more} ${source} -o ${target} ${ARGN}
        DEPENDS ${source} VERBATIM)
    dwell_built_program(${target})
endfunction()

# dwell_openmp_programs(<builds> <names...>): programs/<name>.c by clang with its runtime ("openmp")
# and by gcc with gcc's ("openmp_gcc", which then is in the program's name).
find_program(DWELL_TEST_CLANG NAMES clang clang-14)
find_program(DWELL_TEST_GCC NAMES gcc)
file(GLOB DWELL_TEST_LIBOMP /usr/lib/llvm-*/lib/libomp.so)
function(dwell_openmp_programs builds)
    foreach(build ${builds})
        set(compiler ${DWELL_TEST_GCC})
        if(build STREQUAL "openmp")
            set(compiler ${DWELL_TEST_CLANG})
        endif()
        if(NOT compiler OR (build STREQUAL "openmp" AND NOT DWELL_TEST_LIBOMP))
            continue()  # the tests that want it skip and say so
        endif()
        foreach(name ${ARGN})
            string(REPLACE openmp ${build} target ${name})
            set(command ${compiler})
            set(optimized -O1 -fno-optimize-sibling-calls)
            if(name MATCHES "tails")
                set(optimized -O2)
            endif()
            if(name MATCHES "openmp_(mpi|idle)")
                if(NOT DWELL_TEST_MPICC)
                    continue()
                endif()
                set(command ${CMAKE_COMMAND} -E env OMPI_CC=${compiler} ${DWELL_TEST_MPICC})
            endif()
            add_custom_command(OUTPUT ${DWELL_TEST_BIN}/${target}
                COMMAND ${CMAKE_COMMAND} -E make_directory ${DWELL_TEST_BIN}
                COMMAND ${command} -g ${optimized} -Wall -fno-inline -fopenmp
                        ${CMAKE_CURRENT_SOURCE_DIR}/programs/${name}.c -o ${DWELL_TEST_BIN}/${target}
                DEPENDS programs/${name}.c VERBATIM)
            dwell_built_program(${DWELL_TEST_BIN}/${target})
        endforeach()
    endforeach()
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
    cmake_path(ABSOLUTE_PATH script BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    if(script MATCHES "/(test_)?(packages|wrappers|ccache|linkers|loop_shapes|gcc_probes|clang_probes|probe_languages|callpath).py" OR
       script MATCHES "/(test_)?(by_hand|probes|limits|hosts|launch|usage|crash|process|output|ends).py" OR
       script MATCHES "/(test_)?(epilog|otf2|random|partial|exact|arguments|exec|io|debian|modules|memory|inlined).py" OR
       script MATCHES "/(test_)?(openmp_exchange|openmp_runtimes|include_graph_test|dynamic_section_test).py" OR
       script MATCHES "/mpi_coverage_test.py")
        set(processors 1)
    endif()
    # Open MPI takes ob1 on such machines after it has loaded all of UCX, 200 ms a run. UCX replaces the
    # functions for memory, so it stays loaded where the tests are about the whole process.
    set(pml "")
    if(NOT label STREQUAL "fault")
        set(pml ";OMPI_MCA_pml=ob1")
    endif()
    add_test(NAME ${label}.${name}
        COMMAND ${Python3_EXECUTABLE} -B ${script} ${ARGN} ${only})
    set_tests_properties(${label}.${name} PROPERTIES
        LABELS ${label} TIMEOUT ${timeout} SKIP_RETURN_CODE 77 PROCESSORS ${processors}
        ENVIRONMENT "PYTHONPATH=${DWELL_TEST_PYTHONPATH};SYSTEST_DWELL=$<TARGET_FILE:dwell>;SYSTEST_LIBRARY=$<TARGET_FILE:dwell_runtime>;SYSTEST_WRAPPERS=$<TARGET_FILE_DIR:dwell-cc>;SYSTEST_PROGRAMS=${DWELL_TEST_BIN}:${PROJECT_BINARY_DIR}/tests/system/bin:${PROJECT_BINARY_DIR}/tests/faults/bin${pml}")
endfunction()

# dwell_extended(<label>.<group> <names of cases...>): `./setup test extended` runs them, and `ctest`;
# `./setup test` runs others that go the same way.
function(dwell_extended group)
    foreach(name ${ARGN})
        set_property(TEST ${group}.${name} APPEND PROPERTY LABELS extended)
    endforeach()
endfunction()

# dwell_exact_test(<program> <ranks> <source> [with_file])
function(dwell_exact_test name ranks source)
    dwell_python_test(system exact.${name} ${PROJECT_SOURCE_DIR}/tests/system/exact/exact.py 120
        ${name} ${ranks} ${source} ${ARGN})
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
