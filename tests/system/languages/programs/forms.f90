! What Fortran has: module procedures, one contained in another, a recursive function, an entry, do
! concurrent, array syntax, and stop inside of a procedure.
module forms
  use iso_c_binding
  implicit none
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
  end interface
  integer :: times = 4
contains
  subroutine outer()
    integer :: i
    do i = 1, times  ! outer's loop
      call inner(i)
    end do
    call keep()
  contains
    subroutine inner(i)
      integer, intent(in) :: i
      call spin_ms(i)
      call keep()
    end subroutine
  end subroutine

  recursive function depth(n) result(total)
    integer, intent(in) :: n
    integer :: total
    call spin_ms(2)
    total = 1
    if (n > 0) total = total + depth(n - 1)
    call keep()
  end function

  subroutine whole()
    call spin_ms(3)
    entry part()
    call spin_ms(2)
    call keep()
  end subroutine

  subroutine arrays(a)
    real, intent(inout) :: a(:)
    integer :: i
    do concurrent (i = 1:size(a))
      a(i) = a(i) * 2
    end do
    a = a + 1
    call spin_ms(4)
    call keep()
  end subroutine

  subroutine stops()
    call spin_ms(5)
    call end_all()
    stop 3
  end subroutine
end module

program all_forms
  use forms
  implicit none
  real :: a(1000)
  call begin_all()
  a = 1
  call outer()
  print '(I0)', depth(4)
  call whole()
  call part()
  call arrays(a)
  print '(F4.1)', a(1000)
  call stops()
end program
