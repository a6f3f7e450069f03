import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { z } from 'zod';
import { runHere, temporaryFolder } from '../run-cli.ts';

export const finding = z.strictObject({
  check: z.string(),
  status: z.enum(['ok', 'warning', 'problem']),
  message: z.string().regex(/^[^\n]+$/),
  remedy: z.string().nullable(),
});
const document = z.strictObject({
  ok: z.boolean(),
  problems: z.int(),
  warnings: z.int(),
  checks: z.array(finding),
});

/** No search, so that no chain is asked, and no gateway on the usual port. */
export const quiet = { X402_NETWORKS: 'none', PORT: '0' };

/** What `causeway doctor --json` prints. Each finding that is not right says what to do. */
export const examine = async (env: Record<string, string>, yaml?: string) => {
  const folder = await temporaryFolder();
  const config = join(folder, 'causeway.yaml');
  await writeFile(config, yaml ?? '');
  const { exitCode, stdout, stderr } = await runHere(['doctor', '--json'], {
    env: {
      DATA_DIR: join(folder, 'data'),
      ...env,
      ...(yaml === undefined ? {} : { CAUSEWAY_CONFIG: config }),
    },
  });
  expect(stderr).toBe('');
  const seen = document.parse(JSON.parse(stdout));
  expect(exitCode).toBe(seen.problems > 0 ? 1 : 0);
  for (const { status, remedy } of seen.checks) expect(remedy === null).toBe(status === 'ok');
  const findingsOf = (check: string) =>
    seen.checks.filter((one) => one.check === check).map(({ status, message }) => `${status}: ${message}`);
  return { ...seen, stdout, findingsOf };
};
