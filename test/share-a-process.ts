import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * A test replaces something of its process with these. Spies are taken back before the next test (`restoreMocks`), and
 * `leave-nothing-behind.ts` fails a file that leaves timers faked.
 */
const replaces = /\b(?:interceptRequests|stubGlobal|vi\.mock|setGlobalDispatcher)\b/;
/** A test measures all of its process with this; the program only tells it. */
const measures = /\bmemoryUsage\b/;
const relativeImports = /(?:\bfrom|\bimport\(?|new URL\()\s*'(\.[^']+\.ts)'/g;

const ownsItsProcess = (file: string, seen: Set<string>): boolean => {
  if (seen.has(file) || !existsSync(file)) return false;
  seen.add(file);
  const text = readFileSync(file, 'utf8');
  return (
    replaces.test(text) ||
    (file.startsWith('test/') && measures.test(text)) ||
    [...text.matchAll(relativeImports)].some(([, path = '']) =>
      ownsItsProcess(join(dirname(file), path), seen),
    )
  );
};

/**
 * Returns the test files that run one after another in shared processes: neither they nor any file that they import, from
 * src or test, change the process for the others. `leave-nothing-behind.ts` fails a file that leaves something open.
 */
export const sharingTests = (): string[] => {
  /** These and all that they import were read, and change nothing. */
  let harmless = new Set<string>();
  return globSync('test/**/*.test.ts', { exclude: ['test/fleet'] }).filter((file) => {
    const seen = new Set(harmless);
    if (ownsItsProcess(file, seen)) return false;
    harmless = seen;
    return true;
  });
};
