// A library for come_and_go.c: 2 ms for each of n times.
void spin_ms(int ms);
void keep(void);

int go(int n) {
    for (int i = 0; i < n; i++) {  // go's loop
        spin_ms(2);
    }
    keep();
    return n;
}
