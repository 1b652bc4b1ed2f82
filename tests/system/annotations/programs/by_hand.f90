! Module dwell. Killed at its end with an argument, as by_hand.c.
!
!   phase step: 10, last iteration 10, in it block work: 10, volume 80; marker tick in that: 10, 30
!   block other, ended without a name: 10; grid: 4 x 2, the first periodic, at 1 0
program by_hand
    use, intrinsic :: iso_c_binding, only: c_int
    use, intrinsic :: iso_fortran_env, only: int64, output_unit
    use dwell
    implicit none
    interface
        function raise_signal(number) result(status) bind(c, name="raise")
            import :: c_int
            integer(c_int), value :: number
            integer(c_int) :: status
        end function
    end interface
    integer :: i
    integer(c_int) :: status
    do i = 1, 10
        call dwell_phase_next('step', i)
        call dwell_block_begin('work   ')
        call dwell_block_volume(8_int64)
        call dwell_mark('tick', 3)
        call dwell_block_end('work')
        call dwell_block_begin('other')
        call dwell_block_end()
    end do
    call dwell_phase_end()
    call dwell_grid('cart', [4, 2], [.true., .false.], [1, 0])
    call dwell_pause()
    print '(a,l1)', 'in the pause ', dwell_is_recording()
    call dwell_block_begin('unseen')
    call dwell_resume()
    call dwell_block_end('unseen')
    print '(a,l1)', 'after it ', dwell_is_recording()
    print '(3a)', 'version "', dwell_version(), '"'
    flush (output_unit)
    if (command_argument_count() > 0) status = raise_signal(9_c_int)
end program
