! Reading and writing in Fortran: io_fortran FILE. Its run-time library calls read and write for it;
! the statements of the profile are these here.
!   unformatted  8 times 2**20 bytes written, and read back
!   formatted    4000 lines of 11 bytes each
program io_fortran
  use mpi
  implicit none
  integer :: ierror, i, unit
  integer(8) :: block(131072)
  character(4096) :: path
  call MPI_Init(ierror)
  call get_command_argument(1, path)
  block = 1
  open(newunit=unit, file=trim(path), access='stream', form='unformatted', status='replace') ! @open
  do i = 1, 8
    write(unit) block ! @write
  end do
  rewind(unit)
  do i = 1, 8
    read(unit) block ! @read
  end do
  close(unit)
  open(newunit=unit, file=trim(path)//'.text', form='formatted', status='replace')
  do i = 1, 4000
    write(unit, '(i10)') i ! @text
  end do
  close(unit) ! @close
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  print *, 'done'
  call MPI_Finalize(ierror)
end program
