import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** What a test may leave behind in its process: children, threads, databases, faked globals. */
const traces =
  /from 'node:(?:child_process|worker_threads|sqlite)'|from '(?:pg|litesvm|vitest\/node)'|\b(?:interceptRequests|useFakeTimers|spyOn|stubGlobal)\b/;
const relativeImports = /(?:\bfrom|\bimport\(?|new URL\()\s*'(\.[^']+\.ts)'/g;

const leavesTraces = (file: string, seen: Set<string>): boolean => {
  if (seen.has(file) || !existsSync(file)) return false;
  seen.add(file);
  const text = readFileSync(file, 'utf8');
  return (
    traces.test(text) ||
    [...text.matchAll(relativeImports)].some(([, path = '']) => leavesTraces(join(dirname(file), path), seen))
  );
};

/**
 * Returns the test files that can run one after another in one process: neither they nor any file that they import, from
 * src or test, can leave something behind in it.
 */
export const sharingTests = (): string[] =>
  globSync('test/**/*.test.ts').filter((file) => !leavesTraces(file, new Set()));
