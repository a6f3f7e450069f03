import { inventProfiles } from './invent-profiles.ts';
import type { BuildOutcome, BuildRequest } from './run-build.ts';

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
