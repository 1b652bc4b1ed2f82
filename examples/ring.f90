! A number travels round a ring of ranks, in the mpi_f08 binding.
!
!   ring [ROUNDS [NUMBERS]]      default 100 1000
!
! Each rank makes ROUNDS calls of MPI_Sendrecv, each sends NUMBERS double precision numbers to the
! next rank and receives as many from the one before: with the defaults 100 calls, 800000 bytes sent
! and 800000 received by each rank. After P rounds the numbers are back where they began.
program ring
    use mpi_f08
    implicit none
    integer :: rank, ranks, next, previous, round, rounds, numbers
    double precision, allocatable :: outgoing(:), incoming(:)

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    rounds = argument(1, 100)
    numbers = argument(2, 1000)
    next = modulo(rank + 1, ranks)
    previous = modulo(rank - 1, ranks)
    allocate (outgoing(numbers), incoming(numbers))
    outgoing = dble(rank)
    do round = 1, rounds
        call pass_on()
    end do
    if (nint(outgoing(1)) /= modulo(rank - rounds, ranks)) then
        print *, 'rank ', rank, ' holds a wrong number'
        call MPI_Abort(MPI_COMM_WORLD, 1)
    end if
    if (rank == 0) print '(i0,a)', rounds, ' rounds'
    call MPI_Finalize()

contains

    subroutine pass_on()
        call MPI_Sendrecv(outgoing, numbers, MPI_DOUBLE_PRECISION, next, 0, &
                          incoming, numbers, MPI_DOUBLE_PRECISION, previous, 0, &
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        outgoing = incoming
    end subroutine pass_on

    integer function argument(position, default)
        integer, intent(in) :: position, default
        character(len=20) :: text
        integer :: status
        argument = default
        if (command_argument_count() < position) return
        call get_command_argument(position, text)
        read (text, *, iostat=status) argument
        if (status /= 0) argument = default
    end function argument

end program ring
