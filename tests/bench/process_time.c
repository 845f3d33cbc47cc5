// How long a command takes from posix_spawn to its end, several programs in turns:
//
//   gcc -O2 tests/bench/process_time.c -o process_time
//   ./process_time 200 old/mha-run new/mha-run -- -w weights.npz -i x.npy -o y.npy
//
// What the programs print goes to /dev/null.
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

extern char** environ;

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}

static double run_once(char** command) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  pid_t child;
  int status = -1;
  const double start = milliseconds();
  if (posix_spawnp(&child, command[0], &actions, NULL, command, environ) == 0) {
    waitpid(child, &status, 0);
  }
  const double time = milliseconds() - start;
  posix_spawn_file_actions_destroy(&actions);
  if (status != 0) {
    fprintf(stderr, "process_time: %s failed\n", command[0]);
    exit(1);
  }
  return time;
}

static int ascending(const void* a, const void* b) {
  const double difference = *(const double*)a - *(const double*)b;
  return (difference > 0) - (difference < 0);
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 0;
  int dashes = 2;
  while (dashes < argc && strcmp(argv[dashes], "--") != 0) ++dashes;
  if (rounds < 1 || dashes == 2 || dashes >= argc) {
    fprintf(stderr, "usage: process_time ROUNDS PROGRAM... -- ARGUMENT...\n");
    return 2;
  }
  const int programs = dashes - 2;
  double* times = malloc(sizeof(double) * programs * rounds);
  for (int round = -1; round < rounds; ++round) {  // the first one warms up
    for (int p = 0; p < programs; ++p) {
      char** command = argv + dashes;  // the program stands where "--" stood
      command[0] = argv[2 + p];
      const double time = run_once(command);
      if (round >= 0) times[p * rounds + round] = time;
    }
  }
  for (int p = 0; p < programs; ++p) {
    double* of = times + p * rounds;
    qsort(of, rounds, sizeof(double), ascending);
    printf("%-40s min %6.2f ms, median %6.2f ms\n", argv[2 + p], of[0], of[rounds / 2]);
  }
}
