! What one call costs a program that uses mpi_f08, in nanoseconds: run it with and without dwell.
! The best one percent of many short chunks stand for the cost.
!
! usage: mpirun -n 1 [dwell run] call_cost_f08 [CHUNKS]
module chunks
    use mpi_f08
    use iso_fortran_env, only: int64, real64
    implicit none
    integer, parameter :: calls = 100
    integer :: chunk_count = 3000
contains
    subroutine report(name, calls_of_chunk, seconds)
        character(*), intent(in) :: name
        integer, intent(in) :: calls_of_chunk
        real(real64), intent(inout) :: seconds(:)
        integer :: i, kept
        real(real64) :: total
        kept = max(1, size(seconds) / 100)
        total = 0
        do i = 1, kept
            total = total + minval(seconds)
            seconds(minloc(seconds, 1)) = huge(total) / 2
        end do
        print '(a,t36,f9.1)', name, total / kept / calls_of_chunk * 1e9_real64
    end subroutine

    real(real64) function now()
        integer(int64) :: count, rate
        call system_clock(count, rate)
        now = real(count, real64) / real(rate, real64)
    end function
end module

program call_cost_f08
    use chunks
    implicit none
    real(real64), allocatable :: seconds(:)
    real(real64) :: start, value, total
    integer :: outgoing(2), incoming(2), i, chunk
    logical :: flag
    character(32) :: argument
    if (command_argument_count() > 0) then
        call get_command_argument(1, argument)
        read (argument, *) chunk_count
    end if
    allocate (seconds(chunk_count))
    outgoing = 1
    value = 1
    call MPI_Init()
    print '(a,t36,a9)', 'call', 'ns'
    do chunk = 1, chunk_count
        start = now()
        do i = 1, calls
            call MPI_Send(outgoing, 2, MPI_INTEGER, 0, 1, MPI_COMM_SELF)
            call MPI_Recv(incoming, 2, MPI_INTEGER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
        end do
        seconds(chunk) = now() - start
    end do
    call report('Send + Recv (each)', 2 * calls, seconds)
    do chunk = 1, chunk_count
        start = now()
        do i = 1, calls
            call MPI_Iprobe(0, 7, MPI_COMM_SELF, flag, MPI_STATUS_IGNORE)
        end do
        seconds(chunk) = now() - start
    end do
    call report('Iprobe', calls, seconds)
    do chunk = 1, chunk_count
        start = now()
        do i = 1, calls
            call MPI_Allreduce(value, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_SELF)
        end do
        seconds(chunk) = now() - start
    end do
    call report('Allreduce (self)', calls, seconds)
    call MPI_Finalize()
end program
