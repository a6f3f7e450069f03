import { openLeadInput } from '../../../src/leads/import/open-lead-input.ts';
import type { LeadIndex } from '../../../src/leads/lead-index.ts';
import type { BenchPlace, LoadedProfiles } from './engine.ts';

/**
 * The whole way of an import, as `leads import --replace` goes it: the CSV file is read, each row checked, taken over.
 * Throws when a row is refused or lost.
 */
export const importProfiles = async (
  keeper: LeadIndex,
  { csvFile, profileCount }: BenchPlace,
): Promise<LoadedProfiles> => {
  try {
    const input = await openLeadInput({
      files: [csvFile],
      onRejected: ([row]) => {
        throw new Error(`${csvFile}:${row?.line} was refused: ${row?.problem}`);
      },
    });
    const { profiles } = await keeper.importLeads({
      input,
      mode: 'replace',
      signal: new AbortController().signal,
    });
    if (profiles !== profileCount) throw new Error(`${profiles} of ${profileCount} profiles were imported.`);
    const { bytes } = await keeper.stats();
    return { profiles, bytes, input: 'CSV file, checked' };
  } finally {
    await keeper.close();
  }
};
