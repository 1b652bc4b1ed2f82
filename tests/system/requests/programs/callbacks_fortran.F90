! Fortran's procedures that MPI calls back, each of which calls MPI itself: those calls are the
! program's. 2 ranks; of each procedure N calls on each of them. USE_F08: by mpi_f08.
#ifdef USE_F08
#define USED mpi_f08
#define HANDLE(kind) type(kind)
#else
#define USED mpi
#define HANDLE(kind) integer
#endif
module procedures
    use USED
    implicit none
    integer, parameter :: rounds = 10
    !@ let N=10

contains

    subroutine copy_of_comm(object, key, state, in, out, flag, error)
        HANDLE(MPI_Comm) :: object
        integer :: key, error
        integer(MPI_ADDRESS_KIND) :: state, in, out
        logical :: flag
        HANDLE(MPI_Datatype) :: pair
        !@ MPI_Type_contiguous count=2*N nodes=1
        call MPI_Type_contiguous(2, MPI_INTEGER, pair, error)
        out = in
        flag = .true.
    end subroutine

    subroutine deletion_of_comm(object, key, value, state, error)
        HANDLE(MPI_Comm) :: object
        integer :: key, error
        integer(MPI_ADDRESS_KIND) :: value, state
        HANDLE(MPI_Datatype) :: pair
        !@ MPI_Type_contiguous count=2*N nodes=1
        call MPI_Type_contiguous(2, MPI_INTEGER, pair, error)
    end subroutine

    subroutine copy_of_type(object, key, state, in, out, flag, error)
        HANDLE(MPI_Datatype) :: object
        integer :: key, error
        integer(MPI_ADDRESS_KIND) :: state, in, out
        logical :: flag
        HANDLE(MPI_Datatype) :: pair
        !@ MPI_Type_contiguous count=2*N nodes=1
        call MPI_Type_contiguous(2, MPI_INTEGER, pair, error)
        out = in
        flag = .true.
    end subroutine

    subroutine deletion_of_type(object, key, value, state, error)
        HANDLE(MPI_Datatype) :: object
        integer :: key, error
        integer(MPI_ADDRESS_KIND) :: value, state
        HANDLE(MPI_Datatype) :: pair
        !@ MPI_Type_contiguous count=2*N nodes=1
        call MPI_Type_contiguous(2, MPI_INTEGER, pair, error)
    end subroutine

    subroutine deletion_of_window(object, key, value, state, error)
        HANDLE(MPI_Win) :: object
        integer :: key, error
        integer(MPI_ADDRESS_KIND) :: value, state
        HANDLE(MPI_Datatype) :: pair
        !@ MPI_Type_contiguous count=2*N nodes=1
        call MPI_Type_contiguous(2, MPI_INTEGER, pair, error)
    end subroutine

    subroutine error_of_comm(object, code)
        HANDLE(MPI_Comm) :: object
        integer :: code, error
        HANDLE(MPI_Datatype) :: pair
        !@ MPI_Type_contiguous count=2*N nodes=1
        call MPI_Type_contiguous(2, MPI_INTEGER, pair, error)
    end subroutine

    subroutine error_of_window(object, code)
        HANDLE(MPI_Win) :: object
        integer :: code, error
        HANDLE(MPI_Datatype) :: pair
        !@ MPI_Type_contiguous count=2*N nodes=1
        call MPI_Type_contiguous(2, MPI_INTEGER, pair, error)
    end subroutine

    subroutine error_of_file(object, code)
        HANDLE(MPI_File) :: object
        integer :: code, error
        HANDLE(MPI_Datatype) :: pair
        !@ MPI_Type_contiguous count=2*N nodes=1
        call MPI_Type_contiguous(2, MPI_INTEGER, pair, error)
    end subroutine
end module

program callbacks
    use USED
    use procedures
    implicit none
    integer(MPI_ADDRESS_KIND), parameter :: value = 7, bytes = 8, start = 0
    integer :: error, key, i, words(2)
    HANDLE(MPI_Comm) :: with, copied
    HANDLE(MPI_Datatype) :: type, copied_type
    HANDLE(MPI_Win) :: window
    HANDLE(MPI_File) :: file
    HANDLE(MPI_Errhandler) :: handler

    call MPI_Init(error)
    call MPI_Comm_create_keyval(copy_of_comm, deletion_of_comm, key, start, error)
    call MPI_Comm_dup(MPI_COMM_SELF, with, error)
    call MPI_Comm_set_attr(with, key, value, error)
    do i = 1, rounds
        call MPI_Comm_dup(with, copied, error)
        call MPI_Comm_free(copied, error)
    end do

    call MPI_Type_create_keyval(copy_of_type, deletion_of_type, key, start, error)
    call MPI_Type_dup(MPI_INTEGER, type, error)
    call MPI_Type_set_attr(type, key, value, error)
    do i = 1, rounds
        call MPI_Type_dup(type, copied_type, error)
        call MPI_Type_free(copied_type, error)
    end do

    call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, deletion_of_window, key, start, error)
    do i = 1, rounds
        call MPI_Win_create(words, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, error)
        call MPI_Win_set_attr(window, key, value, error)
        call MPI_Win_free(window, error)
    end do

    call MPI_Comm_create_errhandler(error_of_comm, handler, error)
    call MPI_Comm_set_errhandler(with, handler, error)
    do i = 1, rounds
        call MPI_Send(words, 1, MPI_INTEGER, 5, 0, with, error)
    end do

    call MPI_Win_create_errhandler(error_of_window, handler, error)
    call MPI_Win_create(words, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, error)
    call MPI_Win_set_errhandler(window, handler, error)
    do i = 1, rounds
        call MPI_Put(words, 1, MPI_INTEGER, 5, start, 1, MPI_INTEGER, window, error)
    end do
    call MPI_Win_free(window, error)

    call MPI_File_create_errhandler(error_of_file, handler, error)
    call MPI_File_set_errhandler(MPI_FILE_NULL, handler, error)
    do i = 1, rounds
        call MPI_File_open(MPI_COMM_SELF, '/nowhere/at/all', MPI_MODE_RDONLY, MPI_INFO_NULL, file, error)
    end do
    ! In total, as gfortran gives some first statements of a loop another one's line.
    !@ total MPI_Comm_create_keyval count=2
    !@ total MPI_Type_create_keyval count=2
    !@ total MPI_Win_create_keyval count=2
    !@ total MPI_Comm_create_errhandler count=2
    !@ total MPI_Win_create_errhandler count=2
    !@ total MPI_File_create_errhandler count=2
    !@ total MPI_Comm_dup count=2+2*N
    !@ total MPI_Comm_free count=2*N
    !@ total MPI_Type_dup count=2+2*N
    !@ total MPI_Type_free count=2*N
    !@ total MPI_Win_free count=2+2*N
    !@ total MPI_Send count=2*N failed=2*N
    !@ total MPI_Put count=2*N failed=2*N
    !@ total MPI_File_open count=2*N failed=2*N
    call MPI_Finalize(error)
end program
