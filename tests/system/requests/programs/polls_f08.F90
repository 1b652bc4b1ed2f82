! The Fortran 2008 sibling of polls.c: rank 1 prints its calls, those that found nothing, and the
! bytes it received; 2 ranks.
program polls
    use mpi_f08
    implicit none
    integer, parameter :: rounds = 20
    integer :: rank, i
    integer(8) :: calls, unsuccessful
    real(8) :: value
    logical :: flag
    type(MPI_Request) :: request

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    calls = 0
    unsuccessful = 0
    do i = 1, rounds
        if (rank == 0) then
            call send_late(1)
        else
            call MPI_Irecv(value, 1, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, request)
            do
                call MPI_Test(request, flag, MPI_STATUS_IGNORE)
                call count_poll()
                if (flag) exit
            end do
        end if
    end do
    if (rank == 1) print '(a,1x,i0,1x,i0,1x,i0)', 'test', calls, unsuccessful, 8 * rounds
    calls = 0
    unsuccessful = 0
    do i = 1, rounds
        if (rank == 0) then
            call send_late(2)
        else
            do
                call MPI_Iprobe(0, 2, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE)
                call count_poll()
                if (flag) exit
            end do
            call MPI_Recv(value, 1, MPI_DOUBLE_PRECISION, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        end if
    end do
    if (rank == 1) print '(a,1x,i0,1x,i0,1x,i0)', 'iprobe', calls, unsuccessful, 0
    call MPI_Finalize()

contains

    subroutine count_poll()
        calls = calls + 1
        if (.not. flag) unsuccessful = unsuccessful + 1
    end subroutine

    subroutine send_late(tag)
        integer, intent(in) :: tag
        real(8) :: until
        until = MPI_Wtime() + 0.002d0
        do while (MPI_Wtime() < until)
        end do
        call MPI_Send(value, 1, MPI_DOUBLE_PRECISION, 1, tag, MPI_COMM_WORLD)
    end subroutine
end program
