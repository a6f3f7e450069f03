import { accessSync, constants, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, matchesGlob } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { sharingTests } from './test/share-a-process.ts';

// Tests start hundreds of processes and threads that load the same modules: what V8 made of them is kept.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/compiled');

/** Linux keeps files here in memory: thousands of stores wait for no disk. */
const memory = '/dev/shm';
const neededBytes = 1024 ** 3;

/** True if files there can be written and executed, and have room. */
const isUsable = (folder: string): boolean => {
  const probe = join(folder, `causeway-probe-${process.pid}`);
  try {
    writeFileSync(probe, '', { mode: 0o700 });
    accessSync(probe, constants.X_OK);
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize >= neededBytes;
  } catch {
    return false;
  } finally {
    rmSync(probe, { force: true });
  }
};

/**
 * Tests whose names end so run with `--mode slow` (`npm run test:slow`): they kill processes again and again, need chains
 * of their own, wait long, or take as much of a processor as hundreds of others.
 */
const slowTests = 'test/**/*.slow.test.ts';

/** These drive Chromium, and run with `--mode browser` (`npm run test:browser`). */
const browserTests = 'test/**/*.browser.test.ts';

/** These need bubblewrap, and run with `--mode sandbox` (`npm run test:sandbox`). */
const sandboxTests = 'test/**/*.sandbox.test.ts';

/** These and the tests of a fleet run with `--mode fleet` (`npm run test:fleet`), on a store behind a pooler. */
const storeTests = /^test\/store\/(?!sqlite)/;

/** These wait long for leases, processes or chains. */
const longWaits =
  /payments\/(?:crash|refunds|buying)\/|e2e\/(?:process|outages|memory|tasks|wallet-races)|operator\/payments|job-runner|run-video|serve-stdio|clients/;

/** Counts the calls of functions, among which retries and polls would fall on a busy machine: it begins when the others have ended. */
const quietTest = 'test/e2e/four-ways.slow.test.ts';

/** On some processors V8 aborts a process whose threads come and go (`jit_page.has_value()`), unless it is told this. */
const execArgv = ['--no-memory-protection-keys'];

/** Begins with the files that wait longest, so that the others fill the time. */
class LongWaitsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean => longWaits.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

// vitest reads its configuration from a default export.
// oxlint-disable-next-line import/no-default-export
export default defineConfig(({ mode }) => {
  const isSlow = mode === 'slow';
  const isFleet = mode === 'fleet';
  // Slow tests write large files.
  if (mode === 'test' && isUsable(memory)) process.env['TMPDIR'] ??= memory;
  const ofModes: Record<string, string> = { slow: slowTests, browser: browserTests, sandbox: sandboxTests };
  const named = ofModes[mode] ?? null;
  const sharing = sharingTests().filter((file) => {
    if (file === quietTest) return false;
    if (isFleet) return storeTests.test(file);
    if (named !== null) return matchesGlob(file, named);
    return Object.values(ofModes).every((glob) => !matchesGlob(file, glob));
  });
  return {
    test: {
      pool: 'forks',
      execArgv,
      restoreMocks: true,
      // Much of a test's time is spent waiting: for a child process, a database, a lease. A browser keeps a core busy.
      maxWorkers: availableParallelism() + (mode === 'browser' ? 0 : 3),
      provide: { storeThreads: isSlow },
      // Only a hang takes so long, also on a busy machine.
      testTimeout: isSlow ? 600_000 : 120_000,
      hookTimeout: isSlow ? 600_000 : 180_000,
      // What is waited for comes late on a busy machine; the wait ends as soon as it is there.
      expect: { poll: { timeout: 60_000 } },
      reporters: ['default'],
      sequence: { sequencer: LongWaitsFirst },
      globalSetup: [
        ...(isFleet ? ['test/fleet/pooler.ts'] : []),
        'test/outside-services.ts',
        'test/data-template.ts',
      ],
      projects: [
        {
          extends: true,
          test: {
            name: 'alone',
            include: [isFleet ? 'test/fleet/*.test.ts' : (named ?? 'test/**/*.test.ts')],
            exclude: isFleet
              ? []
              : [...sharing, quietTest, 'test/fleet/**', ...(named === null ? Object.values(ofModes) : [])],
            // A fleet takes the whole machine: it begins when the others have ended.
            sequence: { groupOrder: isFleet ? 1 : 0 },
          },
        },
        // In processes of their own, these would take half as long again: to start, to load modules and to warm up.
        {
          extends: true,
          test: {
            name: 'shared',
            include: sharing,
            isolate: false,
            // For leave-nothing-behind.ts.
            execArgv: [...execArgv, '--expose-gc'],
            setupFiles: ['test/leave-nothing-behind.ts'],
          },
        },
        ...(isSlow
          ? [
              {
                extends: true as const,
                test: { name: 'quiet', include: [quietTest], sequence: { groupOrder: 1 } },
              },
            ]
          : []),
      ],
    },
  };
});
