import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

// Tests start hundreds of processes and threads that load the same modules: what V8 made of them is kept.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/compiled');

/** The tests that kill a process at every step with `--mode crash` (`npm run test:crash`), else at a few. */
const crashTests = ['test/purchases/crash/killed-*.test.ts', 'test/purchases/refunds/refund-crash.test.ts'];

// vitest reads its configuration from a default export.
// oxlint-disable-next-line import/no-default-export
export default defineConfig(({ mode }) => ({
  test: {
    include: mode === 'crash' ? crashTests : ['test/**/*.test.ts'],
    provide: { isCrashCampaign: mode === 'crash' },
    globalSetup: ['test/outside-services.ts', 'test/data-template.ts'],
    pool: 'forks',
    // Most of a test's time is spent waiting: for a child process, a database, a lease.
    maxWorkers: availableParallelism() + 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // What is waited for comes late on a busy machine; the wait ends as soon as it is there.
    expect: { poll: { timeout: 10_000 } },
    reporters: ['default'],
  },
}));
