// Blocks and markers whose names are any bytes: argv[1] and following name them.
#include <dwell.h>

int main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        dwell_block_begin(argv[i]);
        dwell_mark(argv[i], 1);
        dwell_block_end(argv[i]);
    }
    return 0;
}
