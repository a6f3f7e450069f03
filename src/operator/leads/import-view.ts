import { z } from 'zod';
import type { InputProgress, RejectedRow } from '../../leads/import/input-options.ts';
import type { ImportedProfiles } from '../../leads/lead-keeper.ts';
import type { StoreSettings } from '../../store/store-settings.ts';
import { placeFields, toPlaceView } from './kept-place-view.ts';

export const importSchema = z.strictObject({
  ...placeFields,
  mode: z.enum(['upsert', 'replace']),
  rows: z.int(),
  added: z.int(),
  updated: z.int(),
  removed: z.int().nullable().describe('Profiles that `replace` dropped; null: not known.'),
  repeated: z.int().describe('Rows that a later row with the same username replaced.'),
  forgotten: z.int().describe('Rows of people who asked to be forgotten.'),
  rejected: z.int(),
  unknown_countries: z.int().describe('Rows whose country is not known. They are imported without it.'),
  profiles: z.int().describe('How many there are now.'),
  duration_ms: z.int(),
  rows_per_second: z.int().nullable(),
  report: z.string().nullable().describe('The file with all rejected rows; only on the command line.'),
  first_rejected: z.array(z.strictObject({ file: z.string(), line: z.int(), problem: z.string() })),
  first_unknown_countries: z.array(z.string()),
});

export type ImportView = z.output<typeof importSchema>;

export interface EndedImport extends ImportedProfiles {
  place: Pick<StoreSettings, 'databaseUrl'>;
  input: Pick<InputProgress, 'rejected' | 'unknownCountries'>;
  firstRejected: readonly RejectedRow[];
  report: string | null;
}

export const toImportView = ({
  place,
  mode,
  outcome,
  durationMs,
  input,
  firstRejected,
  report,
}: EndedImport): ImportView => ({
  ...toPlaceView(place),
  mode,
  rows: outcome.rows,
  added: outcome.added,
  updated: outcome.updated,
  removed: outcome.removed,
  repeated: outcome.repeated,
  forgotten: outcome.forgotten,
  rejected: input.rejected,
  unknown_countries: input.unknownCountries.rows,
  profiles: outcome.profiles,
  duration_ms: durationMs,
  rows_per_second: durationMs === 0 ? null : Math.round((outcome.rows / durationMs) * 1_000),
  report,
  first_rejected: firstRejected.map(({ file, line, problem }) => ({ file, line, problem })),
  first_unknown_countries: [...input.unknownCountries.first],
});
