! Annotations for dwell from Fortran: module dwell. dwell.h documents each procedure under the same
! name; without libdwell.so they do nothing.
!
! Trailing blanks of names are removed; the end of a block may be called with or without a name.
module dwell
    use, intrinsic :: iso_c_binding, only: c_char, c_int, c_int64_t, c_size_t
    use, intrinsic :: iso_fortran_env, only: int32, int64
    implicit none
    private

    public :: dwell_block_begin, dwell_block_end, dwell_block_volume, dwell_mark
    public :: dwell_phase_begin, dwell_phase_next, dwell_phase_end
    public :: dwell_pause, dwell_resume, dwell_is_recording, dwell_grid, dwell_version
    public :: dwell_events_on, dwell_events_off
    public :: dwell_figures, dwell_query, dwell_query_partner
    public :: dwell_estimated, dwell_not_counted, dwell_waits_unknown

    ! struct dwell_figures. Tell the bits of `flags` by iand().
    type, bind(c) :: dwell_figures
        integer(c_int64_t) :: count = 0
        integer(c_int64_t) :: inclusive_ns = 0, exclusive_ns = 0, open_ns = 0
        integer(c_int64_t) :: waiting_ns = 0, transfer_ns = 0
        integer(c_int64_t) :: bytes_sent = 0, bytes_received = 0
        integer(c_int64_t) :: flags = 0
    end type
    integer(c_int64_t), parameter :: dwell_estimated = 1, dwell_not_counted = 2
    integer(c_int64_t), parameter :: dwell_waits_unknown = 4

    ! Volumes and iterations are of either of the two usual kinds.
    interface dwell_block_volume
        module procedure block_volume_32, block_volume_64
    end interface
    interface dwell_mark
        module procedure mark_plain, mark_32, mark_64
    end interface
    interface dwell_phase_begin
        module procedure phase_begin_plain, phase_begin_32, phase_begin_64
    end interface
    interface dwell_phase_next
        module procedure phase_next_plain, phase_next_32, phase_next_64
    end interface

    interface
        subroutine c_block_begin(name, bytes) bind(c, name="dwell_fortran_block_begin")
            import :: c_char, c_size_t
            character(kind=c_char), intent(in) :: name(*)
            integer(c_size_t), value :: bytes
        end subroutine
        subroutine c_block_end(name, bytes) bind(c, name="dwell_fortran_block_end")
            import :: c_char, c_size_t
            character(kind=c_char), intent(in) :: name(*)
            integer(c_size_t), value :: bytes
        end subroutine
        subroutine c_block_end_any() bind(c, name="dwell_fortran_block_end_any")
        end subroutine
        subroutine c_block_volume(volume) bind(c, name="dwell_fortran_block_volume")
            import :: c_int64_t
            integer(c_int64_t), value :: volume
        end subroutine
        subroutine c_mark(name, bytes, volume) bind(c, name="dwell_fortran_mark")
            import :: c_char, c_int64_t, c_size_t
            character(kind=c_char), intent(in) :: name(*)
            integer(c_size_t), value :: bytes
            integer(c_int64_t), value :: volume
        end subroutine
        subroutine c_phase_begin(name, bytes, iteration) bind(c, name="dwell_fortran_phase_begin")
            import :: c_char, c_int64_t, c_size_t
            character(kind=c_char), intent(in) :: name(*)
            integer(c_size_t), value :: bytes
            integer(c_int64_t), value :: iteration
        end subroutine
        subroutine dwell_phase_end() bind(c, name="dwell_fortran_phase_end")
        end subroutine
        subroutine dwell_pause() bind(c, name="dwell_fortran_pause")
        end subroutine
        subroutine dwell_resume() bind(c, name="dwell_fortran_resume")
        end subroutine
        subroutine dwell_events_on() bind(c, name="dwell_fortran_events_on")
        end subroutine
        subroutine dwell_events_off() bind(c, name="dwell_fortran_events_off")
        end subroutine
        function c_is_recording() result(recording) bind(c, name="dwell_fortran_is_recording")
            import :: c_int
            integer(c_int) :: recording
        end function
        subroutine c_grid(name, bytes, dimensions, sizes, periodic, coordinates) &
                bind(c, name="dwell_fortran_grid")
            import :: c_char, c_int, c_size_t
            character(kind=c_char), intent(in) :: name(*)
            integer(c_size_t), value :: bytes
            integer(c_int), value :: dimensions
            integer(c_int), intent(in) :: sizes(*), periodic(*), coordinates(*)
        end subroutine
        function c_query(name, bytes, figures) result(known) bind(c, name="dwell_fortran_query")
            import :: c_char, c_int, c_size_t, dwell_figures
            character(kind=c_char), intent(in) :: name(*)
            integer(c_size_t), value :: bytes
            type(dwell_figures), intent(out) :: figures
            integer(c_int) :: known
        end function
        function c_query_partner(rank, figures) result(known) &
                bind(c, name="dwell_fortran_query_partner")
            import :: c_int, dwell_figures
            integer(c_int), value :: rank
            type(dwell_figures), intent(out) :: figures
            integer(c_int) :: known
        end function
        subroutine c_version(text, room) bind(c, name="dwell_fortran_version")
            import :: c_char, c_size_t
            character(kind=c_char), intent(out) :: text(*)
            integer(c_size_t), value :: room
        end subroutine
    end interface

contains

    subroutine dwell_block_begin(name)
        character(*), intent(in) :: name
        call c_block_begin(name, len_trim(name, c_size_t))
    end subroutine

    subroutine dwell_block_end(name)
        character(*), intent(in), optional :: name
        if (present(name)) then
            call c_block_end(name, len_trim(name, c_size_t))
        else
            call c_block_end_any()
        end if
    end subroutine

    subroutine block_volume_32(volume)
        integer(int32), intent(in) :: volume
        call c_block_volume(int(volume, c_int64_t))
    end subroutine
    subroutine block_volume_64(volume)
        integer(int64), intent(in) :: volume
        call c_block_volume(volume)
    end subroutine

    subroutine mark_plain(name)
        character(*), intent(in) :: name
        call mark_64(name, 0_int64)
    end subroutine
    subroutine mark_32(name, volume)
        character(*), intent(in) :: name
        integer(int32), intent(in) :: volume
        call mark_64(name, int(volume, int64))
    end subroutine
    subroutine mark_64(name, volume)
        character(*), intent(in) :: name
        integer(int64), intent(in) :: volume
        call c_mark(name, len_trim(name, c_size_t), volume)
    end subroutine

    subroutine phase_begin_plain(name)
        character(*), intent(in) :: name
        call phase_begin_64(name, 0_int64)
    end subroutine
    subroutine phase_begin_32(name, iteration)
        character(*), intent(in) :: name
        integer(int32), intent(in) :: iteration
        call phase_begin_64(name, int(iteration, int64))
    end subroutine
    subroutine phase_begin_64(name, iteration)
        character(*), intent(in) :: name
        integer(int64), intent(in) :: iteration
        call c_phase_begin(name, len_trim(name, c_size_t), iteration)
    end subroutine

    subroutine phase_next_plain(name)
        character(*), intent(in) :: name
        call phase_next_64(name, 0_int64)
    end subroutine
    subroutine phase_next_32(name, iteration)
        character(*), intent(in) :: name
        integer(int32), intent(in) :: iteration
        call phase_next_64(name, int(iteration, int64))
    end subroutine
    subroutine phase_next_64(name, iteration)
        character(*), intent(in) :: name
        integer(int64), intent(in) :: iteration
        call dwell_phase_end()
        call phase_begin_64(name, iteration)
    end subroutine

    logical function dwell_is_recording()
        dwell_is_recording = c_is_recording() /= 0
    end function

    ! The dimensions in the order of the arrays; coordinates from 0 on, as MPI_Cart_get gives them.
    subroutine dwell_grid(name, sizes, periodic, coordinates)
        character(*), intent(in) :: name
        integer, intent(in) :: sizes(:), coordinates(:)
        logical, intent(in) :: periodic(:)
        integer(c_int) :: wraps(size(periodic))
        if (size(coordinates) /= size(sizes) .or. size(periodic) /= size(sizes)) return
        wraps = merge(1_c_int, 0_c_int, periodic)
        call c_grid(name, len_trim(name, c_size_t), int(size(sizes), c_int), &
                    int(sizes, c_int), wraps, int(coordinates, c_int))
    end subroutine

    logical function dwell_query(name, figures)
        character(*), intent(in) :: name
        type(dwell_figures), intent(out) :: figures
        dwell_query = c_query(name, len_trim(name, c_size_t), figures) /= 0
    end function

    logical function dwell_query_partner(rank, figures)
        integer, intent(in) :: rank
        type(dwell_figures), intent(out) :: figures
        dwell_query_partner = c_query_partner(int(rank, c_int), figures) /= 0
    end function

    ! Of the library that is loaded; empty without it.
    function dwell_version() result(version)
        character(:), allocatable :: version
        character(32) :: text
        text = ' '
        call c_version(text, len(text, c_size_t))
        version = trim(text)
    end function

end module
