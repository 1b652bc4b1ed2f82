! The same as grid_phases.c without an argument, for 4 ranks.
program grid_phases
    use mpi
    use dwell
    implicit none
    integer :: rank, ranks, step, error
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    call dwell_phase_begin('setup')
    call dwell_grid('cart', [2, 2], [.false., .true.], [rank / 2, modulo(rank, 2)])
    call dwell_grid('line', [ranks], [.false.], [rank])
    call spin(0.010d0)
    do step = 5, 14
        call dwell_phase_next('step', step)
        call spin(merge(0.008d0, 0.002d0, rank / 2 == 1))
        call MPI_Barrier(MPI_COMM_WORLD, error)
    end do
    call dwell_phase_end()
    if (rank == 0) then
        do step = 100, 200, 100
            call dwell_phase_begin('output', step)
            call spin(0.005d0)
            call dwell_phase_end()
        end do
    end if
    call MPI_Finalize(error)

contains

    subroutine spin(seconds)
        double precision, intent(in) :: seconds
        double precision :: finish
        finish = MPI_Wtime() + seconds
        do while (MPI_Wtime() < finish)
        end do
    end subroutine

end program
