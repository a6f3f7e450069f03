import { z } from 'zod';
import type { Json } from '../../kit/json.ts';
import { LeadInputError } from './lead-input-error.ts';

const count = z.int().min(0);
const line = z.int().min(1);

const placeSchema = z.union([
  z.object({
    format: z.literal('csv'),
    byte: count,
    line,
    names: z.array(z.string()),
    delimiter: z.string(),
  }),
  z.object({ format: z.literal('jsonl'), byte: count, line }),
  z.object({ format: z.literal('parquet'), row: count }),
]);

const positionSchema = z.object({
  /** Index of the file. */
  file: count,
  /** Rows looked at in all files so far, and how many of them were refused. */
  rows: count,
  rejected: count,
  /** Null for the beginning of the file. */
  at: placeSchema.nullable(),
});

/** A place in one file, between two of its rows. */
export type FilePlace = z.infer<typeof placeSchema>;
/** A place in an input of several files, as a batch's `position` has it. */
export type InputPosition = z.infer<typeof positionSchema>;

export const readPosition = (position: Json): InputPosition => {
  const read = positionSchema.safeParse(position);
  if (read.success) return read.data;
  throw new LeadInputError('The place where the import stopped cannot be understood; begin it again.');
};
