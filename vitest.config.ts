import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

// vitest reads its configuration from a default export.
// oxlint-disable-next-line import/no-default-export
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    // Most of a test's time is spent waiting: for a child process, a database, a lease.
    maxWorkers: availableParallelism() + 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ['default'],
  },
});
