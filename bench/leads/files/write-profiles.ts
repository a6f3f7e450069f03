import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Lead } from '../../../src/leads/lead-source.ts';
import { csvHeader, csvLine } from './profile-csv.ts';

export const fileFormats = ['csv', 'jsonl', 'parquet'] as const;
export type FileFormat = (typeof fileFormats)[number];

const profilesPerChunk = 500;

/** Writes `leads` into `file`, which takes its name only when it is whole. */
export const writeProfiles = async (
  leads: Iterable<Lead>,
  { file, format }: { file: string; format: FileFormat },
): Promise<void> => {
  const unfinished = `${file}.unfinished`;
  try {
    if (format === 'parquet') {
      const { writeParquet } = await import('./write-parquet.ts');
      await writeParquet(leads, unfinished);
    } else {
      await pipeline(Readable.from(chunksOf(leads, format)), createWriteStream(unfinished));
    }
    await rename(unfinished, file);
  } finally {
    await rm(unfinished, { force: true });
  }
};

function* chunksOf(leads: Iterable<Lead>, format: 'csv' | 'jsonl'): Generator<string> {
  const lineOf = format === 'csv' ? csvLine : (lead: Lead): string => `${JSON.stringify(lead)}\n`;
  let chunk = format === 'csv' ? csvHeader : '';
  let profiles = 0;
  for (const lead of leads) {
    chunk += lineOf(lead);
    profiles += 1;
    if (profiles % profilesPerChunk !== 0) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}
