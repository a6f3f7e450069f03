import { generateLeads } from '../synthetic/generate-leads.ts';
import { fictionalSource, type BuildOutcome, type BuildRequest } from './build-fictional.ts';
import { inBatches, openNext } from './import-profiles.ts';
import { hasRealFiles, removeOthers, waitForLock } from './profiles-folder.ts';

/**
 * Makes fictional profiles current and returns their number. Returns null if real ones have appeared, which are never
 * replaced. Only the final switch takes the lock, so no import has to wait for the rest.
 */
const inventProfiles = async ({ folder, unfinished, set }: BuildRequest): Promise<number | null> => {
  const next = await openNext(unfinished, { folder, mode: 'replace', current: null, since: 0 });
  try {
    for (const leads of inBatches(generateLeads(set))) next.write(leads);
    Array.from(next.merge());
    const lock = await waitForLock(folder);
    try {
      if (hasRealFiles(folder)) return null;
      const profiles = await next.publish(fictionalSource(set));
      removeOthers(folder);
      return profiles;
    } finally {
      lock.release();
    }
  } finally {
    await next.remove();
  }
};

/* The process that builds the fictional profiles. It ends with its report, or with the gateway. */
const build = async (request: BuildRequest): Promise<BuildOutcome> => {
  try {
    return { profiles: await inventProfiles(request) };
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) };
  }
};

// A terminal or a service manager sends these to all processes of the gateway, which ends this one itself.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
process.once('disconnect', () => process.exit());
process.once('message', (request: BuildRequest) => {
  void build(request).then((outcome) => process.send?.(outcome, () => process.disconnect()));
});
