import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { generateLeads } from '../../synthetic/generate-leads.ts';
import { publish } from '../changing/publish.ts';
import { writeGeneration } from '../changing/write-generation.ts';
import { holdsReal } from '../folder-changes.ts';
import { fictionalMark, newId, removeReplaced } from '../lead-folder.ts';
import { readManifest } from '../manifest.ts';
import { openSpoolWriter } from '../sorting/spool-writer.ts';
import { syntheticSource, type SyntheticSet } from '../synthetic-set.ts';
import { waitForLock } from '../keeper-lock.ts';
import type { BuildRequest } from './run-build.ts';

/**
 * Makes fictional profiles current in `folder` and returns their number. Returns null if real ones have appeared, which
 * are never replaced. Only the final switch takes the lock, so no import has to wait for the rest.
 */
export const inventProfiles = async ({
  folder,
  scratch,
  synthetic,
}: BuildRequest): Promise<number | null> => {
  const spool = join(scratch, 'spool');
  const written = await writeGeneration({
    folder: scratch,
    spool: { file: spool, bytes: fillSpool(spool, synthetic), rows: synthetic.profiles },
    old: null,
    mode: 'replace',
    isForgotten: () => false,
    signal: new AbortController().signal,
  });
  const lock = await waitForLock(folder);
  try {
    if (holdsReal(folder)) return null;
    const before = readManifest(folder);
    const base = { ...written.base, file: `${fictionalMark}${newId()}.db` };
    renameSync(join(scratch, written.base.file), join(folder, base.file));
    const now = publish(folder, {
      synthetic: true,
      source: syntheticSource(synthetic),
      base,
      delta: null,
      gone: null,
      hasErased: false,
      forgotten: before?.forgotten ?? null,
    });
    removeReplaced(folder, { before, now });
    return base.profiles;
  } finally {
    lock.release();
  }
};

const fillSpool = (file: string, synthetic: SyntheticSet): number => {
  const spool = openSpoolWriter(file, 0);
  try {
    for (const lead of generateLeads(synthetic)) spool.add(lead);
    spool.flush();
    return spool.bytes;
  } finally {
    spool.close();
  }
};
