! dwell_query() from Fortran, one process: block "work", 10 entries of 3 ms, and nothing else.
!
! Prints for each name whether it is known, the count, the inclusive and the exclusive time, the bits
! of the flags that are known, and the time that passed by the program's own clock, in ns.
program query
    use, intrinsic :: iso_fortran_env, only: int64
    use dwell
    implicit none
    integer(int64) :: begin, rate
    integer :: i
    call system_clock(begin, rate)
    do i = 1, 10
        call dwell_block_begin('work')
        call spin(3e-3)
        call dwell_block_end('work')
    end do
    call ask('work   ')
    call ask('nothing')
    call ask_partner(0)
contains
    subroutine spin(seconds)
        real, intent(in) :: seconds
        integer(int64) :: start, now
        call system_clock(start)
        do
            call system_clock(now)
            if (real(now - start) >= seconds * real(rate)) exit
        end do
    end subroutine
    subroutine ask(name)
        character(*), intent(in) :: name
        type(dwell_figures) :: figures
        integer(int64) :: now
        logical :: known
        figures%count = 99
        known = dwell_query(name, figures)
        call system_clock(now)
        print '(a,1x,l1,5(1x,i0))', trim(name), known, figures%count, figures%inclusive_ns, &
            figures%exclusive_ns, iand(figures%flags, dwell_estimated + dwell_not_counted + &
            dwell_waits_unknown), (now - begin) * (1000000000_int64 / rate)
    end subroutine
    subroutine ask_partner(rank)
        integer, intent(in) :: rank
        type(dwell_figures) :: figures
        print '(a,1x,l1,1x,i0)', 'partner', dwell_query_partner(rank, figures), figures%bytes_sent
    end subroutine
end program
