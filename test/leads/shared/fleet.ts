import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Log } from '../../../src/kit/log.ts';
import { silentLog } from '../../../src/kit/log.ts';
import type { OpenedLeadSource } from '../../../src/leads/lead-source-definition.ts';
import type { LeadKeeper } from '../../../src/leads/lead-keeper.ts';
import type { Lead } from '../../../src/leads/lead-source.ts';
import { openSharedKeeper } from '../../../src/leads/shared/open-shared-keeper.ts';
import { openSharedLeads } from '../../../src/leads/shared/open-shared-leads.ts';
import type { SharedPlace } from '../../../src/leads/shared/shared-place.ts';
import { createLeadsWithoutForgotten } from '../../../src/leads/without-forgotten.ts';
import { buildLead } from '../build-lead.ts';
import { leadInputOf } from '../embedded/lead-input-of.ts';

export const signal = new AbortController().signal;

/** A folder for one test. */
export const temporaryFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'fleet-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

export interface TestGateway {
  source: OpenedLeadSource;
  /** The names that a search finds, of people who are not forgotten. */
  names(): Promise<string[]>;
}

/** A gateway's leads, as `openLeads` puts them together. */
export const openGateway = async (
  place: SharedPlace,
  {
    folder,
    syntheticProfiles = 0,
    log = silentLog,
  }: { folder: string; syntheticProfiles?: number; log?: Log },
): Promise<TestGateway> => {
  const source = await openSharedLeads(place, { folder, syntheticProfiles, log });
  onTestFinished(() => source.close());
  const filtered = createLeadsWithoutForgotten(
    source,
    source.forgotten === undefined ? [] : [source.forgotten],
  );
  return {
    source,
    names: async () => {
      const leads = await filtered.search({ limit: 100 }, { signal });
      return leads.map(({ username }) => username);
    },
  };
};

export const openKeeper = (place: SharedPlace, folder: string): Promise<LeadKeeper> =>
  openSharedKeeper(place, { folder, limits: { deltaProfiles: 2 } });

export const people = (...usernames: string[]): Lead[] =>
  usernames.map((username, index) => buildLead({ username, followers: 1_000 - index }));

export const importNames = async (keeper: LeadKeeper, ...usernames: string[]): Promise<void> => {
  await keeper.importLeads({ input: leadInputOf(people(...usernames)), mode: 'upsert', signal });
};
