import { parentPort, workerData } from 'node:worker_threads';
import { inventProfiles } from './invent-profiles.ts';
import type { BuildMessage, BuildRequest } from './messages.ts';
import { refoldProfiles } from './refold-profiles.ts';

/* The thread that builds an index. It ends after one job. */
const build = async ({ folder, scratch, job }: BuildRequest): Promise<BuildMessage> => {
  const startedMs = performance.now();
  const profiles =
    job.kind === 'invent'
      ? await inventProfiles({ folder, scratch, synthetic: job.synthetic })
      : await refoldProfiles({ folder, scratch });
  return profiles === null
    ? { kind: 'unneeded' }
    : { kind: 'built', profiles, tookMs: Math.round(performance.now() - startedMs) };
};

const request: BuildRequest = workerData;
parentPort?.postMessage(await build(request));
