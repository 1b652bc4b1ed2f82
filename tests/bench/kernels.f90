! Loops and array statements of numerical programs; see kernels.c.
module kernels
    implicit none
contains
    subroutine triad(a, b, c, s)
        double precision, intent(out) :: a(:)
        double precision, intent(in) :: b(:), c(:), s
        a = b + s * c
    end subroutine

    subroutine relax(to, from, n)
        integer, intent(in) :: n
        double precision, intent(inout) :: to(n, n)
        double precision, intent(in) :: from(n, n)
        integer :: i, j
        do j = 2, n - 1
            do i = 2, n - 1
                to(i, j) = 0.25d0 * (from(i - 1, j) + from(i + 1, j) + from(i, j - 1) + from(i, j + 1))
            end do
        end do
    end subroutine

    double precision function norm(a)
        double precision, intent(in) :: a(:, :)
        norm = sqrt(sum(a * a))
    end function

    subroutine scale(a, n)
        integer, intent(in) :: n
        double precision, intent(inout) :: a(n)
        integer :: i
        do concurrent (i = 1:n)
            a(i) = 2 * a(i) + 1
        end do
    end subroutine

    subroutine clip(a, limit)
        real, intent(inout) :: a(:)
        real, intent(in) :: limit
        where (a > limit) a = limit
    end subroutine

    subroutine multiply(c, a, b, n)
        integer, intent(in) :: n
        double precision, intent(inout) :: c(n, n)
        double precision, intent(in) :: a(n, n), b(n, n)
        integer :: i, j, k
        do j = 1, n
            do k = 1, n
                do i = 1, n
                    c(i, j) = c(i, j) + a(i, k) * b(k, j)
                end do
            end do
        end do
    end subroutine
end module
