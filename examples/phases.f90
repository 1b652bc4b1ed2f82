! The same as phases.c, in Fortran: phases, blocks, markers with volume and a grid of ranks.
!
!   phases_f [STEPS [MILLISECONDS]]      default 20 5
!
! Each rank: phase "setup" once; phase "step" STEPS times, numbered from 1, in each the block "relax"
! for MILLISECONDS, with a volume of 1000, and the block "exchange" with one MPI_Sendrecv; in every
! fifth step the marker "output" with a volume of 8000. With the defaults "relax" takes 100 ms in 20
! entries with a volume of 20000, and "output" counts 4, with 32000.
program phases
    use mpi_f08
    use dwell
    implicit none
    integer, parameter :: cells = 1000
    double precision :: field(cells) = 0
    type(MPI_Comm) :: ring
    integer :: ranks, place, step, steps, milliseconds

    call MPI_Init()
    steps = argument(1, 20)
    milliseconds = argument(2, 5)

    call dwell_phase_begin('setup')
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., ring)
    call MPI_Comm_rank(ring, place)
    call dwell_grid('ring', [ranks], [.true.], [place])

    do step = 1, steps
        call dwell_phase_next('step', step)
        call relax(milliseconds * 1d-3)
        call exchange()
        if (modulo(step, 5) == 0) call dwell_mark('output', 8 * cells)
    end do
    call dwell_phase_end()

    if (place == 0) print '(i0,a)', steps, ' steps'
    call MPI_Finalize()

contains

    subroutine relax(seconds)
        double precision, intent(in) :: seconds
        double precision :: finish
        call dwell_block_begin('relax')
        finish = MPI_Wtime() + seconds
        do while (MPI_Wtime() < finish)
            field(2:cells - 1) = 0.5d0 * (field(1:cells - 2) + field(3:cells))
        end do
        call dwell_block_volume(cells)
        call dwell_block_end('relax')
    end subroutine

    subroutine exchange()
        integer :: below, above
        call dwell_block_begin('exchange')
        call MPI_Cart_shift(ring, 0, 1, below, above)
        call MPI_Sendrecv(field(cells - 1), 1, MPI_DOUBLE_PRECISION, above, 0, field(1), 1, &
                          MPI_DOUBLE_PRECISION, below, 0, ring, MPI_STATUS_IGNORE)
        call dwell_block_end('exchange')
    end subroutine

    integer function argument(number, otherwise)
        integer, intent(in) :: number, otherwise
        character(20) :: text
        integer :: status
        argument = otherwise
        call get_command_argument(number, text, status=status)
        if (status == 0 .and. text /= '') read (text, *) argument
    end function

end program
