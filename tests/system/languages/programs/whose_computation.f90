! As whose_computation.c: rank 1 computes 20 ms where rank 0 waits for it, in turn with communication.
module work
    use mpi
    implicit none
    integer :: rank
    double precision :: values(4) = 0
contains
    subroutine compute()
        integer(8) :: now, until, rate
        call system_clock(now, rate)
        until = now
        if (rank == 1) until = now + rate / 50
        do while (now < until)
            call system_clock(now)
        end do
    end subroutine

    subroutine exchange()
        integer :: error
        call MPI_Sendrecv(values, 1, MPI_DOUBLE_PRECISION, 1 - rank, 0, values(2), 1, &
                          MPI_DOUBLE_PRECISION, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
        call MPI_Barrier(MPI_COMM_WORLD, error)
        values(3) = values(3) + values(2)
    end subroutine

    subroutine halo()
        integer :: i
        do i = 1, 10
            call compute()
            call exchange()
        end do
        values(4) = values(3)
    end subroutine
end module

program whose_computation
    use work
    implicit none
    integer :: error
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call halo()
    call MPI_Finalize(error)
end program
