! As callbacks_fortran.F90, with the names that these functions have in MPI 1, which mpi_f08 has not.
module procedures
    use mpi
    implicit none
    integer, parameter :: rounds = 10
    !@ let N=10

contains

    subroutine copy_attribute(object, key, state, in, out, flag, error)
        integer :: object, key, state, in, out, error
        logical :: flag
        integer :: pair
        !@ MPI_Type_contiguous count=2*N nodes=1
        call MPI_Type_contiguous(2, MPI_INTEGER, pair, error)
        out = in
        flag = .true.
    end subroutine

    subroutine delete_attribute(object, key, value, state, error)
        integer :: object, key, value, state, error
        integer :: pair
        !@ MPI_Type_contiguous count=2*N nodes=1
        call MPI_Type_contiguous(2, MPI_INTEGER, pair, error)
    end subroutine

    subroutine complain(object, code)
        integer :: object, code, error
        integer :: pair
        !@ MPI_Type_contiguous count=2*N nodes=1
        call MPI_Type_contiguous(2, MPI_INTEGER, pair, error)
    end subroutine
end module

program callbacks
    use mpi
    use procedures
    implicit none
    integer :: error, key, i, with, copied, handler, words(2)

    call MPI_Init(error)
    call MPI_Keyval_create(copy_attribute, delete_attribute, key, 0, error)
    call MPI_Comm_dup(MPI_COMM_SELF, with, error)
    call MPI_Attr_put(with, key, 7, error)
    do i = 1, rounds
        call MPI_Comm_dup(with, copied, error)
        call MPI_Comm_free(copied, error)
    end do
    call MPI_Errhandler_create(complain, handler, error)
    call MPI_Comm_set_errhandler(with, handler, error)
    do i = 1, rounds
        call MPI_Send(words, 1, MPI_INTEGER, 5, 0, with, error)
    end do
    ! In total, as gfortran gives some first statements of a loop another one's line.
    !@ total MPI_Keyval_create count=2
    !@ total MPI_Errhandler_create count=2
    !@ total MPI_Comm_dup count=2+2*N
    !@ total MPI_Comm_free count=2*N
    !@ total MPI_Send count=2*N failed=2*N
    call MPI_Finalize(error)
end program
