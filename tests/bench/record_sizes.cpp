// Bytes of each kind of record, for the table of figures.
#include <stdio.h>

#include "runtime/contract/record_layout.h"

int main() {
    using namespace dwell;
    printf("node %zu\n", sizeof(Node));
    printf("communication %zu\n", sizeof(CommPart));
    printf("peer %zu\n", sizeof(TrafficPeerRecord));
    printf("histogram %zu\n", sizeof(SizeHistogram));
    printf("thread %u\n", kThreadCells * kCellBytes);
    printf("header %u\n", kHeaderCells * kCellBytes);
    return 0;
}
