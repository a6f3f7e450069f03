import { generateLeads } from '../synthetic/generate-leads.ts';
import { fictionalSource, type BuildOutcome, type BuildRequest } from './build-fictional.ts';
import { inBatches, openNext } from './import-profiles.ts';
import { hasRealFiles, removeOthers, waitForLock } from './profiles-folder.ts';

/**
 * Makes fictional profiles current. Real ones that have appeared are never replaced. Only the final switch takes the
 * lock, so no import has to wait for the rest.
 */
const inventProfiles = async ({ folder, unfinished, set }: BuildRequest): Promise<BuildOutcome> => {
  await using next = await openNext(unfinished, { folder, mode: 'replace', current: null, since: 0 });
  for (const leads of inBatches(generateLeads(set))) next.write(leads);
  Array.from(next.merge());
  using _lock = await waitForLock(folder);
  if (hasRealFiles(folder)) return { profiles: null };
  const profiles = await next.publish(fictionalSource(set));
  removeOthers(folder);
  return { profiles };
};

const toFailure = (error: unknown): BuildOutcome => ({
  failure: error instanceof Error ? error.message : String(error),
});

/* The process that builds the fictional profiles. It ends with its report, or with the gateway. */

// A terminal or a service manager sends these to all processes of the gateway, which ends this one itself.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
process.once('disconnect', () => process.exit());
process.once('message', (request: BuildRequest) => {
  const built = inventProfiles(request).catch(toFailure);
  void built.then((outcome) => process.send?.(outcome, () => process.disconnect()));
});
