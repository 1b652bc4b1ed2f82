! What source probes make of Fortran; the answers are explained in probed.c.
!! 1 0 MAIN__
module work
    implicit none
contains
    ! A tree of depth 3 with two branches: 1 + 2 + 4 procedures.
    !! 1 0 MAIN__/depth
    !! 1 2 MAIN__/depth/branches
    !! 2 0 MAIN__/depth/branches/depth
    !! 2 4 MAIN__/depth/branches/depth/branches
    !! 4 0 MAIN__/depth/branches/depth/branches/depth
    !! 4 8 MAIN__/depth/branches/depth/branches/depth/branches
    recursive integer function depth(n) result(r)  != proc depth +
        integer, intent(in) :: n
        integer :: i
        r = 1
        do i = 1, 2                                != loop branches in depth +
            if (n > 1) r = r + depth(n - 1)        != call depth in branches
        end do
    end function

    ! Array syntax over two dimensions is two loops on one line, over one dimension one.
    !! 1 0 MAIN__/fill
    !! 1 8 MAIN__/fill/diagonal
    !! 1 0 MAIN__/fill/scale
    !! 1 3 MAIN__/fill/scale/columns
    subroutine fill(a, n)                          != proc fill +
        integer, intent(in) :: n
        real, intent(out) :: a(n, n)
        integer :: i
        do concurrent (i = 1:n)  ! the compiler keeps the place of its first statement only
            a(i, i) = 2.0                          != loop diagonal in fill +
        end do
        call scale(3)
    contains
        subroutine scale(k)                        != proc scale in fill +
            integer, intent(in) :: k
            integer :: m
            do m = 1, k                            != loop columns in scale +
                a(:, m) = a(m, m) * 3.0            != loop column in columns inner
            end do
        end subroutine
    end subroutine

    ! Both entries lead to one body, which the compiler calls master.0.first_.
    !! 1 0 MAIN__/first
    !! 1 0 MAIN__/second
    !! 1 0 MAIN__/first/master.0.first_
    !! 1 0 MAIN__/second/master.0.first_
    !! 1 4 MAIN__/first/master.0.first_/sums
    !! 1 4 MAIN__/second/master.0.first_/sums
    subroutine first(x)                            != proc first +
        integer, intent(inout) :: x
        integer :: i
        x = x + 1                                  != proc master.0.first_ +
        entry second(x)                            != proc second +
        do i = 1, 4                                != loop sums in master.0.first_ +
            x = x + i
        end do
    end subroutine

    integer pure function plus(x)                  != proc plus small
        integer, intent(in) :: x
        plus = x + 1
    end function
end module

program main                                       != proc MAIN__ +
    use work
    implicit none
    real :: a(8, 8)
    integer :: x
    x = plus(-1)
    !! 1 8 MAIN__/whole
    a = 1.0                                        != loop whole in MAIN__ +; loop whole in whole inner
    call fill(a, 8)
    call first(x)
    call second(x)
    print *, sum(a), depth(3), x                   != loop adding in MAIN__ +; loop adding in adding inner
    !! 1 8 MAIN__/adding
end program
