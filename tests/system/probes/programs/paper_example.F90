! paper_example.c as Fortran has it: procedures of a module, MPI by mpi_f08.
module pass_time
  use iso_c_binding
  interface
    subroutine begin_all() bind(C)
    end subroutine
    subroutine end_all() bind(C)
    end subroutine
    subroutine keep() bind(C)
    end subroutine
    subroutine spin_ms(ms) bind(C)
      import
      integer(c_int), value :: ms
    end subroutine
    function world_rank() bind(C)
      import
      integer(c_int) :: world_rank
    end function
  end interface
end module

module procedures
  use mpi_f08
  use pass_time
  implicit none
  integer :: first = 2, second = 4, inner = 3
  integer :: out(4) = 0, in(4)
contains
  subroutine p1()  ! L4
    call spin_ms(9)
    call p3(first)  ! L5
#ifndef LAST
    call spin_ms(1)
#endif
  end subroutine

  subroutine p2()  ! L6
    call spin_ms(18)
    call p3(second)  ! L7
#ifndef LAST
    call spin_ms(2)
#endif
  end subroutine

  subroutine p3(n)  ! L8
    integer, intent(in) :: n
    integer :: i, j, other
    type(MPI_Comm) :: world
    type(MPI_Status) :: status
    world = MPI_COMM_WORLD
    other = 1 - world_rank()
    if (other == 0) call spin_ms(40)
    call MPI_Sendrecv(out, 4, MPI_INTEGER, other, 0, in, 4, MPI_INTEGER, other, 0, world, status)  ! L9 e1
    call p4()  ! L10
    do i = 1, n  ! L11 loop1
      call MPI_Sendrecv(out, 4, MPI_INTEGER, other, 0, in, 4, MPI_INTEGER, other, 0, world, status)  ! L12 e2
      do j = 1, inner  ! L13 loop2
        call p4()  ! L14
      end do
    end do
  end subroutine

  subroutine p4()  ! L15
    call spin_ms(4)
    call keep()
  end subroutine
end module

program paper_example  ! L1
  use procedures
  implicit none
  call begin_all()
  call p1()  ! L2
  call p2()  ! L3
  call end_all()
end program
