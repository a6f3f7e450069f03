import { serveCalls } from '../../../kit/threads/serve-calls.ts';
import { inventProfiles } from './invent-profiles.ts';
import type { BuildMessage, BuildRequest } from './run-build.ts';
import { refoldProfiles } from './refold-profiles.ts';

/* The thread that builds an index. */
serveCalls(async ({ folder, scratch, job }: BuildRequest): Promise<BuildMessage> => {
  const startedMs = performance.now();
  const profiles =
    job.kind === 'invent'
      ? await inventProfiles({ folder, scratch, synthetic: job.synthetic })
      : await refoldProfiles({ folder, scratch });
  return profiles === null
    ? { kind: 'unneeded' }
    : { kind: 'built', profiles, tookMs: Math.round(performance.now() - startedMs) };
});
