import { renameSync, rmSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { generateLeads } from '../../synthetic/generate-leads.ts';
import { buildIndex } from '../build-index.ts';
import { syntheticIdentity } from '../index-identity.ts';
import { inspectIndex } from '../inspect-index.ts';
import { writeSeal } from '../seal.ts';
import type { BuildMessage, BuildRequest } from './messages.ts';

/*
 * The thread that makes sure of a usable index in its place. The index is built under another name, sealed, and
 * renamed in one step: at any moment the place holds nothing, an old index, or a whole new one.
 */
const prepare = ({ file, temporary, synthetic, force }: BuildRequest): void => {
  const identity = syntheticIdentity(synthetic);
  const found = inspectIndex(file, identity);
  if (found.state === 'usable' && !force) return;
  tell({ kind: 'building', reason: found.state === 'unusable' ? found.reason : null });
  const startedMs = performance.now();
  const profiles = buildIndex({
    file: temporary.index,
    sortFile: temporary.sort,
    leads: generateLeads(synthetic),
    identity,
  });
  rmSync(temporary.sort);
  writeSeal(temporary.index, file);
  renameSync(temporary.index, file);
  tell({ kind: 'built', profiles, tookMs: Math.round(performance.now() - startedMs) });
};

const tell = (message: BuildMessage): void => parentPort?.postMessage(message);

const request: BuildRequest = workerData;
prepare(request);
tell({ kind: 'prepared' });
