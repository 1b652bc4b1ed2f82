// What the programs here share: time that passes by arithmetic, compiled without probes.
#ifndef PASS_TIME_H_
#define PASS_TIME_H_
#ifdef __cplusplus
extern "C" {
#endif

// Starts MPI when the program is linked with it, and the clock of the whole.
void begin_all(void);
// Computes for so many milliseconds of the wall clock.
void spin_ms(int ms);
// Says on stderr how long all took beside what spin_ms was asked for: "late", what the machine,
// and waiting, added; "spun", the sum asked for. Both in seconds.
void end_all(void);
int world_rank(void);
// The only thing that a compiler cannot know to be nothing.
void keep(void);

#ifdef __cplusplus
}
#endif
#endif
